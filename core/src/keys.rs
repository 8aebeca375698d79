//! Keys: how the key of a task is made, what the Blocker asks InProgress about one, and the answers. No limit is judged here.

#[cfg(test)]
pub(crate) mod fixture;

use serde_json::Value;

use crate::dispatch::DispatchName;
use crate::id::TaskId;
use crate::names::Lane;
use crate::task::Key;

/// Arguments from which no key can be derived.
#[derive(Debug, thiserror::Error)]
#[error("`{part}` is not JSON: {cause}")]
pub struct NotJson {
    /// The field: `args` or `kwargs`.
    pub part: &'static str,
    /// What is wrong with its text.
    pub cause: serde_json::Error,
}

impl Key {
    /// The key of a task that gives none: a stable hash of its lane and its arguments as JSON. White space and the order
    /// of an object's keys don't count, at any depth; `1` and `1.0` differ. What is missing is `[]` and `{}`, which
    /// [`Body`](crate::task::Body) gives already.
    pub fn derived(lane: &Lane, args: &str, kwargs: &str) -> Result<Self, NotJson> {
        let mut text = Vec::new();
        for name in [lane.namespace.as_str(), lane.name.as_str()] {
            text.extend((name.len() as u64).to_le_bytes());
            text.extend(name.as_bytes());
        }
        for (part, json) in [("args", args), ("kwargs", kwargs)] {
            serde_json::from_str(json)
                .and_then(|value| write_canonical(&value, &mut text))
                .map_err(|cause| NotJson { part, cause })?;
        }
        Ok(hash("taskyard derived key 1", &text))
    }

    /// The key that a user gave, the same in every namespace.
    pub fn given(key: &str) -> Self {
        hash("taskyard given key 1", key.as_bytes())
    }
}

/// The context keeps given keys apart from derived ones, and names the version of the format.
fn hash(context: &str, text: &[u8]) -> Key {
    let mut bytes = [0; 16];
    blake3::Hasher::new_derive_key(context).update(text).finalize_xof().fill(&mut bytes);
    Key(u128::from_be_bytes(bytes))
}

/// The keys are sorted here: the order of `serde_json`'s own map depends on a feature that any crate can turn on.
fn write_canonical(value: &Value, text: &mut Vec<u8>) -> serde_json::Result<()> {
    match value {
        Value::Array(items) => {
            text.push(b'[');
            for item in items {
                write_canonical(item, text)?;
                text.push(b',');
            }
            text.push(b']');
        }
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            text.push(b'{');
            for (key, value) in entries {
                serde_json::to_writer(&mut *text, key)?;
                text.push(b':');
                write_canonical(value, text)?;
                text.push(b',');
            }
            text.push(b'}');
        }
        scalar => serde_json::to_writer(text, scalar)?,
    }
    Ok(())
}

/// InProgress's answer to a question about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The key.
    pub key: Key,
    /// The dispatch that was asked for.
    pub name: DispatchName,
    /// The answer.
    pub answer: KeyAnswer,
}

/// Whether a dispatch may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAnswer {
    /// It is counted as in progress from now on.
    Granted,
    /// As many are in progress as its own limit allows. InProgress remembers the interest.
    Occupied {
        /// One of those in progress.
        holder: TaskId,
    },
    /// The question counted on an interest that has been served meanwhile: a `Freed` is ahead of this answer. Ask again
    /// for the first in order.
    Stale,
}

/// A question about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// The key.
    pub key: Key,
    /// For which dispatch.
    pub name: DispatchName,
    /// How many may be in progress by its own policy.
    pub running: u32,
    /// Whether others that are known to be occupied wait, so that the interest must still stand.
    pub others_wait: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Body;

    fn lane(namespace: &str, name: &str) -> Lane {
        Lane { namespace: namespace.parse().unwrap(), name: name.parse().unwrap() }
    }

    fn derived(args: &str, kwargs: &str) -> Key {
        Key::derived(&lane("app.mail", "send"), args, kwargs).unwrap()
    }

    /// P16
    #[test]
    fn missing_arguments_equal_empty_ones() {
        let without = Body::new(r#"{"task":"send"}"#.into(), 0..0, 0..0).unwrap();
        let with = Body::new(r#"{"task":"send","args":[],"kwargs":{}}"#.into(), 22..24, 34..36).unwrap();
        assert_eq!((with.args(), with.kwargs()), ("[]", "{}"));
        assert_eq!(derived(without.args(), without.kwargs()), derived(with.args(), with.kwargs()));
    }

    #[test]
    fn neither_white_space_nor_the_order_of_keys_counts_at_any_depth() {
        let one = derived(r#"[1,{"b":[{"y":1,"x":2}],"a":null}]"#, r#"{"q":"\u0041","p":true}"#);
        let same = derived(r#" [ 1 , {"a":null, "b":[ {"x":2,"y":1} ]} ]"#, r#"{"p": true, "q": "A"}"#);
        assert_eq!(one, same);
    }

    #[test]
    fn what_differs_has_another_key() {
        let all = [
            derived("[]", "{}"),
            derived("[1]", "{}"),
            derived("[1.0]", "{}"),
            derived(r#"["1"]"#, "{}"),
            derived("[1,2]", "{}"),
            derived("[2,1]", "{}"),
            derived("[[1],2]", "{}"),
            derived("[[1,2]]", "{}"),
            derived("[]", r#"{"a":1}"#),
            derived(r#"[{"a":1}]"#, "{}"),
            Key::derived(&lane("app.mai", "lsend"), "[]", "{}").unwrap(),
            Key::derived(&lane("app.mail", "sent"), "[]", "{}").unwrap(),
            Key::given("app.mail"),
            Key::given(""),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn keys_stay_the_same_from_release_to_release() {
        let key = derived(r#"[1,-2.5,"\u00e9\n",{"b":1,"a":[]}]"#, r#"{"to":null}"#);
        assert_eq!(format!("{:032x}", { key.0 }), "1f916cefe682042855a523646a357b15");
        assert_eq!(format!("{:032x}", { Key::given("nightly").0 }), "13fabde6190e6df986442d9f9aa5d710");
    }

    #[test]
    fn what_is_not_json_is_refused_by_the_name_of_the_field() {
        let refused = |args, kwargs| Key::derived(&lane("a", "b"), args, kwargs).unwrap_err().part;
        assert_eq!(refused("[1", "{}"), "args");
        assert_eq!(refused("", "{}"), "args");
        assert_eq!(refused("[]", "{a:1}"), "kwargs");
        let deep = "[".repeat(100_000);
        assert_eq!(refused(&deep, "{}"), "args");
    }
}
