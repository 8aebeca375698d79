//! Many patterns at once: finds the values of all that match some words. It knows nothing of pools or valid names.

use std::collections::BTreeMap;
use std::ptr;

use crate::map::{Map, Set};
use crate::topic::{PatternWord, Specificity, normal_form, words};

/// A trie of patterns with values, by AMQP topic rules. What a match costs depends on the words and on the wildcards
/// met on their way, not on the number of patterns. Bound twice, a value must be unbound twice; then nothing is left.
#[derive(Debug, Clone)]
pub struct Trie<T> {
    root: Node<T>,
}

#[derive(Debug, Clone)]
struct Node<T> {
    literals: Map<Box<str>, Node<T>>,
    star: Option<Box<Node<T>>>,
    /// Reached without a word, and never left. Patterns in normal form have no wildcard right below it.
    tail: Option<Box<Node<T>>>,
    /// What is bound here, how often.
    values: BTreeMap<T, usize>,
    /// That of every pattern that ends here.
    specificity: Specificity,
}

// Not derived: that would ask for `T: Default`.
impl<T> Default for Node<T> {
    fn default() -> Self {
        Self {
            literals: Map::default(),
            star: None,
            tail: None,
            values: BTreeMap::new(),
            specificity: Specificity::default(),
        }
    }
}

impl<T> Default for Trie<T> {
    fn default() -> Self {
        Self { root: Node::default() }
    }
}

impl<T: Ord> Trie<T> {
    /// Binds a value to a pattern, once more if it is bound already.
    pub fn bind(&mut self, pattern: &str, value: T) {
        let form = normal_form(pattern);
        let mut node = &mut self.root;
        for word in &form {
            node = node.child_or_new(*word);
        }
        node.specificity = Specificity::of(&form);
        *node.values.entry(value).or_default() += 1;
    }

    /// Takes one binding back; false if there is none.
    pub fn unbind(&mut self, pattern: &str, value: &T) -> bool {
        self.root.unbind(&normal_form(pattern), value)
    }

    /// Whether nothing is bound and nothing is left of what was.
    pub fn is_empty(&self) -> bool {
        self.root.is_bare()
    }

    /// The values of all patterns that match, each with how specific its pattern is; a value bound to several patterns
    /// comes several times. In no particular order.
    pub fn matches(&self, text: &str) -> Vec<(Specificity, &T)> {
        let mut walk = Walk::default();
        let mut here = Vec::new();
        walk.enter(&self.root, &mut here);
        for word in words(text) {
            // Collected first: a `#` that this word leads to does not take this word.
            let from: Vec<_> = here.drain(..).chain(walk.tails.iter().copied()).collect();
            for node in from {
                for child in node.literals.get(word).into_iter().chain(node.star.as_deref()) {
                    walk.enter(child, &mut here);
                }
            }
        }
        here.into_iter().chain(walk.ended).flat_map(Node::bound).collect()
    }
}

/// The set of states of a walk, apart from those that the next word leaves.
struct Walk<'t, T> {
    /// The `#` nodes entered so far that lead on. They match whatever follows, so they stay.
    tails: Vec<&'t Node<T>>,
    /// The `#` nodes entered so far that patterns end at: those match, whatever follows.
    ended: Vec<&'t Node<T>>,
    entered: Set<*const Node<T>>,
}

impl<T> Default for Walk<'_, T> {
    fn default() -> Self {
        Self { tails: Vec::new(), ended: Vec::new(), entered: Set::default() }
    }
}

impl<'t, T: Ord> Walk<'t, T> {
    /// Enters a node and the `#` below it, which takes no word. Each `#` node is entered once, so that no state is
    /// walked twice.
    fn enter(&mut self, node: &'t Node<T>, next: &mut Vec<&'t Node<T>>) {
        next.push(node);
        let Some(tail) = node.tail.as_deref() else { return };
        if self.entered.insert(ptr::from_ref(tail)) {
            self.ended.extend((!tail.values.is_empty()).then_some(tail));
            self.tails.extend((!tail.literals.is_empty()).then_some(tail));
        }
    }
}

impl<T: Ord> Node<T> {
    fn child_or_new(&mut self, word: PatternWord<'_>) -> &mut Self {
        match word {
            PatternWord::Literal(word) => self.literals.entry(word.into()).or_default(),
            PatternWord::Star => self.star.get_or_insert_default(),
            PatternWord::Tail => self.tail.get_or_insert_default(),
        }
    }

    /// Also removes each node on the way back that became bare.
    fn unbind(&mut self, form: &[PatternWord<'_>], value: &T) -> bool {
        let Some((word, rest)) = form.split_first() else { return self.unbind_here(value) };
        match word {
            PatternWord::Literal(word) => {
                let Some(child) = self.literals.get_mut(*word) else { return false };
                let found = child.unbind(rest, value);
                if child.is_bare() {
                    self.literals.remove(*word);
                }
                found
            }
            PatternWord::Star => Self::unbind_below(&mut self.star, rest, value),
            PatternWord::Tail => Self::unbind_below(&mut self.tail, rest, value),
        }
    }

    fn unbind_below(child: &mut Option<Box<Self>>, rest: &[PatternWord<'_>], value: &T) -> bool {
        let found = child.as_mut().is_some_and(|child| child.unbind(rest, value));
        child.take_if(|child| child.is_bare());
        found
    }

    fn unbind_here(&mut self, value: &T) -> bool {
        let Some(count) = self.values.get_mut(value) else { return false };
        *count -= 1;
        if *count == 0 {
            self.values.remove(value);
        }
        true
    }

    fn is_bare(&self) -> bool {
        self.values.is_empty() && self.literals.is_empty() && self.star.is_none() && self.tail.is_none()
    }

    fn bound(&self) -> impl Iterator<Item = (Specificity, &T)> {
        self.values.keys().map(|value| (self.specificity, value))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::topic::{self, table};

    fn found<'t>(trie: &'t Trie<&'static str>, text: &str) -> Vec<&'t str> {
        let mut found: Vec<_> = trie.matches(text).into_iter().map(|(_, value)| *value).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn one_pattern_in_a_trie_matches_as_the_table_says() {
        for (pattern, text, expected) in table::topics() {
            let mut trie = Trie::default();
            trie.bind(pattern, pattern);
            let times = usize::from(expected);
            assert_eq!(trie.matches(text).len(), times, "{pattern:?} {text:?}");
        }
    }

    #[test]
    fn all_patterns_of_the_table_together_match_each_text_as_one_by_one() {
        let mut trie = Trie::default();
        let mut patterns: Vec<_> = table::topics().map(|(pattern, ..)| pattern).collect();
        patterns.sort_unstable();
        patterns.dedup();
        for pattern in &patterns {
            trie.bind(pattern, *pattern);
        }
        for (_, text, _) in table::topics() {
            let one_by_one: Vec<_> = patterns.iter().copied().filter(|p| topic::matches(p, text)).collect();
            assert_eq!(found(&trie, text), one_by_one, "{text:?}");
        }
    }

    /// R10
    #[test]
    fn a_binding_stays_until_it_was_taken_back_as_often_as_it_was_made() {
        let mut trie = Trie::default();
        trie.bind("a.#", "x");
        trie.bind("a.#", "x");
        trie.bind("a.#", "y");
        assert!(trie.unbind("a.#", &"x"));
        assert_eq!(found(&trie, "a.b"), ["x", "y"]);
        assert!(trie.unbind("a.#", &"x"));
        assert!(!trie.unbind("a.#", &"x"));
        assert_eq!(found(&trie, "a.b"), ["y"]);
    }

    /// R10
    #[test]
    fn unbinding_leaves_nothing_behind() {
        let mut trie = Trie::default();
        let patterns = ["a", "a.*.b.#.c", "#.#.x", "*.#.*", "a.*", "#"];
        for pattern in patterns {
            trie.bind(pattern, "x");
        }
        assert!(!trie.unbind("a.*.b", &"x") && !trie.unbind("b", &"x") && !trie.unbind("a", &"y"));
        for pattern in patterns {
            assert!(!trie.is_empty());
            assert!(trie.unbind(pattern, &"x"), "{pattern}");
        }
        assert!(trie.is_empty(), "{trie:?}");
    }

    /// R16: the best of several runs, since others share the machine.
    #[test]
    fn many_tails_and_many_patterns_are_matched_in_time() {
        let mut trie = Trie::default();
        trie.bind(&("#.".repeat(12) + "x"), 0);
        for n in 1..10_000 {
            trie.bind(&format!("#.w{n}.#.*.a.#.v{}.#", n % 7), n);
            trie.bind(&format!("a.{n}.#"), n);
        }
        let text = vec!["a"; 199].join(".") + ".x";
        let run = || {
            let started = Instant::now();
            assert_eq!(trie.matches(&text).len(), 1);
            started.elapsed()
        };
        let best = (0..5).map(|_| run()).min();
        assert!(best < Some(Duration::from_millis(10)), "{best:?}");
    }

    /// R16: every word reaches every `#` again; they must not multiply.
    #[test]
    fn a_tail_that_is_reached_again_is_walked_once() {
        let mut trie = Trie::default();
        trie.bind(&("#.a.".repeat(30) + "#.x"), "x");
        let text = vec!["a"; 200].join(".");
        assert_eq!(found(&trie, &text), [""; 0]);
        assert_eq!(found(&trie, &(text + ".x")), ["x"]);
    }
}
