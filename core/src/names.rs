//! Validated names: what tasks are called, how they are routed, and which of them a pool takes.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The longest name, namespace or pattern, in bytes (AMQP's short string).
pub const MAX_BYTES: usize = 255;

/// Why a name, namespace or pattern was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Nothing there.
    #[error("it is empty")]
    Empty,
    /// Too long.
    #[error("it is {0} bytes long, at most 255 are allowed")]
    TooLong(usize),
    /// A dot at an end, or two in a row.
    #[error("{0:?} has an empty word (a dot at an end, or two in a row)")]
    EmptyWord(String),
    /// White space or a control character.
    #[error("{0:?} has white space or a control character")]
    Unprintable(String),
    /// `*` or `#` where only plain words are allowed.
    #[error("{0:?} has a wildcard; `*` and `#` belong into patterns")]
    Wildcard(String),
    /// `*` or `#` beside other characters of a word.
    #[error("{0:?} has a word that mixes a wildcard with letters; `*` and `#` stand alone between dots")]
    MixedWildcard(String),
}

fn check_text(text: &str) -> Result<(), BadName> {
    match text {
        "" => Err(BadName::Empty),
        _ if text.len() > MAX_BYTES => Err(BadName::TooLong(text.len())),
        _ if text.contains(|c: char| c.is_control()) => Err(BadName::Unprintable(text.into())),
        _ => Ok(()),
    }
}

fn check_words(text: &str) -> Result<(), BadName> {
    check_text(text)?;
    if text.contains(char::is_whitespace) {
        return Err(BadName::Unprintable(text.into()));
    }
    if text.split('.').any(str::is_empty) {
        return Err(BadName::EmptyWord(text.into()));
    }
    Ok(())
}

/// Dot-separated words, the routing key of a task. Case counts, any letters do, no wildcards, at most 255 bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace(Arc<str>);

/// What a task is called; the handler's name. Printable, at most 255 bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskName(Arc<str>);

/// A namespace with wildcards, AMQP topic rules: `*` is one word, `#` zero or more.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern(Arc<str>);

impl FromStr for Namespace {
    type Err = BadName;
    fn from_str(text: &str) -> Result<Self, BadName> {
        check_words(text)?;
        if text.contains(['*', '#']) {
            return Err(BadName::Wildcard(text.into()));
        }
        Ok(Self(text.into()))
    }
}

impl FromStr for TaskName {
    type Err = BadName;
    fn from_str(text: &str) -> Result<Self, BadName> {
        check_text(text)?;
        Ok(Self(text.into()))
    }
}

impl FromStr for Pattern {
    type Err = BadName;
    fn from_str(text: &str) -> Result<Self, BadName> {
        check_words(text)?;
        if text.split('.').any(|word| word.len() > 1 && word.contains(['*', '#'])) {
            return Err(BadName::MixedWildcard(text.into()));
        }
        Ok(Self(text.into()))
    }
}

impl Namespace {
    /// The namespace of a task that names none: its name, shared and not copied.
    pub fn of_task(name: &TaskName) -> Result<Self, BadName> {
        check_words(name.as_str())?;
        if name.as_str().contains(['*', '#']) {
            return Err(BadName::Wildcard(name.to_string()));
        }
        Ok(Self(Arc::clone(&name.0)))
    }
}

macro_rules! text {
    ($name:ident) => {
        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
text!(Namespace);
text!(TaskName);
text!(Pattern);

/// A lane: tasks of one namespace and one name. What boards index by and what pools claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// The routing key.
    pub namespace: Namespace,
    /// The handler's name.
    pub name: TaskName,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(text: &str) -> Result<(), BadName> {
        text.parse::<Namespace>().map(|namespace| assert_eq!(namespace.as_str(), text))
    }

    fn pattern(text: &str) -> Result<(), BadName> {
        text.parse::<Pattern>().map(|pattern| assert_eq!(pattern.as_str(), text))
    }

    /// R15
    #[test]
    fn a_namespace_is_words_between_single_dots() {
        assert_eq!(namespace(""), Err(BadName::Empty));
        for text in [".", "a..b", "a.", ".a"] {
            assert_eq!(namespace(text), Err(BadName::EmptyWord(text.into())));
            assert_eq!(pattern(text), Err(BadName::EmptyWord(text.into())));
        }
        for text in ["a.*", "a#", "#", "a*"] {
            assert_eq!(namespace(text), Err(BadName::Wildcard(text.into())));
        }
        for text in ["a b", "a\tb", "a.\u{7}", "a\u{a0}b", "a\0"] {
            assert_eq!(namespace(text), Err(BadName::Unprintable(text.into())));
        }
    }

    /// R15
    #[test]
    fn any_letters_do_and_case_counts() {
        for text in ["a", "données.grüße.数据", "🦀.a", "A.B", "a-b_c:d"] {
            assert_eq!(namespace(text), Ok(()));
        }
        assert_ne!("A".parse::<Namespace>(), "a".parse::<Namespace>());
    }

    /// R15
    #[test]
    fn the_limit_is_counted_in_bytes() {
        for (text, bytes) in [("a".repeat(256), 256), ("é".repeat(128), 256)] {
            assert_eq!(namespace(&text), Err(BadName::TooLong(bytes)));
            assert_eq!(pattern(&text), Err(BadName::TooLong(bytes)));
            assert_eq!(text.parse::<TaskName>(), Err(BadName::TooLong(bytes)));
        }
        assert_eq!(namespace(&"a".repeat(255)), Ok(()));
    }

    /// R15
    #[test]
    fn wildcards_stand_alone_in_a_pattern() {
        for text in ["a*", "a#.b", "**", "*#", "a.#b"] {
            assert_eq!(pattern(text), Err(BadName::MixedWildcard(text.into())));
        }
        for text in ["*", "#", "a.*", "#.#.x", "a.b"] {
            assert_eq!(pattern(text), Ok(()));
        }
        assert_eq!(pattern(""), Err(BadName::Empty));
    }

    /// R18
    #[test]
    fn the_namespace_of_a_task_without_one_is_its_name() {
        let of_task = |text: &str| Namespace::of_task(&text.parse().unwrap()).map(|it| it.to_string());
        assert_eq!(of_task("app.mail.send"), Ok("app.mail.send".into()));
        assert_eq!(of_task("send mail"), Err(BadName::Unprintable("send mail".into())));
        assert_eq!(of_task("a..b"), Err(BadName::EmptyWord("a..b".into())));
        assert_eq!(of_task("a.*"), Err(BadName::Wildcard("a.*".into())));
    }
}
