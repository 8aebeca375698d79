//! AMQP topic rules for one pattern on raw words: `*` is one word, `#` zero or more. What words may look like is for
//! [`names`](crate::names) to say.

use std::cmp::Reverse;
use std::str::Split;

/// The words of a dot-separated text, empty ones included; the empty text has none.
pub fn words(text: &str) -> Split<'_, char> {
    let mut words = text.split('.');
    if text.is_empty() {
        words.next();
    }
    words
}

/// Whether a pattern matches. Only the last `#` is ever extended, so the cost is at most words × pattern words.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (words(pattern), words(text));
    let mut retry = None;
    loop {
        let ahead = pattern.next();
        if ahead == Some("#") {
            retry = Some((pattern.clone(), text.clone()));
            continue;
        }
        match (ahead, text.next()) {
            (None, None) => return true,
            (Some(wanted), Some(word)) if wanted == "*" || wanted == word => {}
            _ => {
                let Some((after, from)) = &mut retry else { return false };
                if from.next().is_none() {
                    return false;
                }
                (pattern, text) = (after.clone(), from.clone());
            }
        }
    }
}

/// How narrowly a pattern picks, the most specific greatest: more literal words first, then fewer `#`, then more `*`.
/// So `a.b` before `a.*` before `a.*.#` before `a.#` before `#`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Specificity {
    literals: usize,
    tails: Reverse<usize>,
    stars: usize,
}

/// One word of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternWord<'a> {
    /// This word.
    Literal(&'a str),
    /// `*`
    Star,
    /// `#`
    Tail,
}

/// A pattern's words in normal form: each run of wildcards is its `*`s, then at most one `#`. It matches the same, and
/// no state of a walk is ever reached in two ways through one run (`#.#.#`).
pub fn normal_form(pattern: &str) -> Vec<PatternWord<'_>> {
    let mut form = Vec::new();
    let mut tail = false;
    for word in words(pattern) {
        match word {
            "#" => tail = true,
            "*" => form.push(PatternWord::Star),
            literal => {
                form.extend(std::mem::take(&mut tail).then_some(PatternWord::Tail));
                form.push(PatternWord::Literal(literal));
            }
        }
    }
    form.extend(tail.then_some(PatternWord::Tail));
    form
}

impl Specificity {
    /// That of a pattern in normal form.
    pub fn of(form: &[PatternWord<'_>]) -> Self {
        let mut it = Self::default();
        for word in form {
            match word {
                PatternWord::Literal(_) => it.literals += 1,
                PatternWord::Star => it.stars += 1,
                PatternWord::Tail => it.tails.0 += 1,
            }
        }
        it
    }
}

#[cfg(test)]
pub(crate) mod table {
    //! The table of pattern matches, for the matcher of one pattern and for the trie of many.

    /// Pattern, text, whether it matches.
    pub(crate) fn topics() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        let unquoted = |text| if text == "\"\"" { "" } else { text };
        include_str!("../tests/topics.tsv").lines().skip(1).map(move |line| {
            let [pattern, text, answer] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line:?}")
            };
            assert!(matches!(answer, "yes" | "no"), "{line:?}");
            (unquoted(pattern), unquoted(text), answer == "yes")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pattern_matches_as_the_table_says() {
        assert!(table::topics().count() > 50);
        for (pattern, text, expected) in table::topics() {
            assert_eq!(matches(pattern, text), expected, "{pattern:?} {text:?}");
        }
    }

    /// R16
    #[test]
    fn many_tails_do_not_blow_up() {
        let pattern = "#.".repeat(12) + "x";
        let text = vec!["a"; 200].join(".");
        assert!(!matches(&pattern, &text));
        assert!(matches(&pattern, &(text + ".x")));
    }

    #[test]
    fn runs_of_wildcards_have_one_form() {
        for (one, other) in [("#.#", "#"), ("#.*.#.*", "*.*.#"), ("a.#.#.b", "a.#.b"), ("#.*.a", "*.#.a")] {
            assert_eq!(normal_form(one), normal_form(other), "{one}");
        }
        assert_ne!(normal_form("*.a"), normal_form("#.a"));
        assert_ne!(normal_form("*.*"), normal_form("*"));
    }

    #[test]
    fn literal_words_count_first_then_stars_before_tails() {
        let order = ["a.b", "a.#.b", "a.*.*", "a.*", "a", "a.*.#", "a.#", "#.a.#", "*.*", "*", "*.#", "#"];
        let weights: Vec<_> = order.iter().map(|pattern| Specificity::of(&normal_form(pattern))).collect();
        for (pair, names) in weights.windows(2).zip(order.windows(2)) {
            assert!(pair[0] > pair[1], "{names:?}");
        }
    }
}
