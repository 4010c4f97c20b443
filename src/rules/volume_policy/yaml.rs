//! A YAML text as a tree that still knows lines and whether a scalar was quoted.
//!
//! Only the first document is read, keys are unique, aliases and merge keys are resolved: as
//! Velero's yaml.v3 does (VP-10). Size and depth are bounded.

use std::collections::HashMap;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, StrInput, Tag};

use super::fault::Fault;
use super::scalar::{self, Value};

/// More nodes than any policy has; aliases could otherwise multiply without end.
const MAX_NODES: usize = 100_000;
/// Deeper than any policy; keeps recursion within the stack.
const MAX_DEPTH: usize = 64;

/// One node and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// Line, counted from 1.
    pub(super) line: usize,
    /// What it is.
    pub(super) content: Content,
    nodes: usize,
    depth: usize,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    /// A scalar: its text, and what yaml.v3 makes of it without a wanted type.
    Scalar(String, Value),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping in written order; keys are unique.
    Map(Vec<(Node, Node)>),
}

/// Reads the first document; `None` if there is none.
pub(super) fn read(text: &str) -> Result<Option<Node>, Fault> {
    let mut options = Options::default();
    // The feature that emits them may be on through another crate.
    options.set_emit_comments(false);
    let mut reader = Reader {
        parser: Parser::new_from_str_with_options(text, options),
        anchors: HashMap::new(),
        nodes: 0,
    };
    loop {
        match reader.next()? {
            Some((Event::DocumentStart(..), _)) => break,
            Some((Event::StreamEnd, _)) | None => return Ok(None),
            Some(_) => {}
        }
    }
    let (event, span) = reader.expect_next()?;
    reader.node(event, span, 0).map(Some)
}

struct Reader<'input> {
    parser: Parser<'input, StrInput<'input>>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'input> Reader<'input> {
    fn next(&mut self) -> Result<Option<(Event<'input>, Span)>, Fault> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(Some(next)),
            Some(Err(error)) => Err(Fault::at(error.marker().line(), error.info())),
            None => Ok(None),
        }
    }

    fn expect_next(&mut self) -> Result<(Event<'input>, Span), Fault> {
        self.next()?
            .ok_or_else(|| Fault::at(0, "the text ends too early"))
    }

    fn node(&mut self, event: Event<'input>, span: Span, depth: usize) -> Result<Node, Fault> {
        let line = span.start.line();
        let (content, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = value_of(&text, style, tag.as_deref(), line)?;
                (Content::Scalar(text.into_owned(), value), anchor)
            }
            Event::SequenceStart(_, anchor, _) => (self.list(depth)?, anchor),
            Event::MappingStart(_, anchor, _) => (self.map(line, depth)?, anchor),
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).cloned();
                let node = node.ok_or_else(|| Fault::at(line, "an anchor contains itself"))?;
                self.count(node.nodes, depth + node.depth, line)?;
                return Ok(node);
            }
            _ => return Err(Fault::at(line, "unexpected YAML structure")),
        };
        let node = Node::new(line, content);
        self.count(1, depth, line)?;
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn count(&mut self, nodes: usize, depth: usize, line: usize) -> Result<(), Fault> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            return Err(Fault::at(line, "document contains excessive aliasing"));
        }
        if depth > MAX_DEPTH {
            return Err(Fault::at(line, "document is nested too deeply"));
        }
        Ok(())
    }

    fn list(&mut self, depth: usize) -> Result<Content, Fault> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.expect_next()?;
            if event == Event::SequenceEnd {
                return Ok(Content::List(items));
            }
            self.count(0, depth + 1, span.start.line())?;
            items.push(self.node(event, span, depth + 1)?);
        }
    }

    fn map(&mut self, line: usize, depth: usize) -> Result<Content, Fault> {
        let mut entries: Vec<(Node, Node)> = Vec::new();
        let mut merge = None;
        let mut seen = HashMap::new();
        loop {
            let (event, span) = self.expect_next()?;
            if event == Event::MappingEnd {
                break;
            }
            self.count(0, depth + 1, span.start.line())?;
            let is_merge =
                matches!(&event, Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<");
            let key = self.node(event, span, depth + 1)?;
            let (event, span) = self.expect_next()?;
            let value = self.node(event, span, depth + 1)?;
            if let Some(first) = seen.insert(key.text().to_owned(), key.line) {
                let fault = format!(
                    "mapping key {:?} already defined at line {first}",
                    key.text()
                );
                return Err(Fault::at(key.line, fault));
            }
            if is_merge {
                merge = Some(value);
            } else {
                entries.push((key, value));
            }
        }
        if let Some(merge) = merge {
            for (key, value) in merged(merge, line)? {
                if seen.insert(key.text().to_owned(), key.line).is_none() {
                    entries.push((key, value));
                }
            }
        }
        Ok(Content::Map(entries))
    }
}

/// The entries that a merge key brings in.
fn merged(merge: Node, line: usize) -> Result<Vec<(Node, Node)>, Fault> {
    let want_map = || {
        Fault::at(
            line,
            "map merge requires map or sequence of maps as the value",
        )
    };
    match merge.content {
        Content::Map(entries) => Ok(entries),
        Content::List(items) => {
            let mut all = Vec::new();
            for item in items {
                let Content::Map(entries) = item.content else {
                    return Err(want_map());
                };
                all.extend(entries);
            }
            Ok(all)
        }
        Content::Scalar(..) => Err(want_map()),
    }
}

/// What yaml.v3 makes of a scalar: quoted or tagged `!!str` it is text; other standard tags must
/// fit; a lone `!` says nothing; any other tag makes it text.
fn value_of(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    line: usize,
) -> Result<Value, Fault> {
    let Some(tag) = tag.and_then(|tag| tag.suffix_in_namespace("tag:yaml.org,2002:")) else {
        let untagged = tag.is_none_or(|tag| tag.handle().len() + tag.suffix().len() <= 1);
        let plain = style == ScalarStyle::Plain && untagged;
        return Ok(if plain {
            scalar::resolve(text)
        } else {
            Value::Text
        });
    };
    let value = scalar::resolve(text);
    let fits = match (tag.as_ref(), &value) {
        ("str", _) => return Ok(Value::Text),
        ("float", Value::Int(number)) => return Ok(scalar::float_of(*number)),
        ("null", Value::Null)
        | ("bool", Value::Bool(_))
        | ("int", Value::Int(_))
        | ("float", Value::Float(_))
        | ("timestamp", Value::Time(_)) => true,
        _ => false,
    };
    if fits {
        Ok(value)
    } else {
        Err(Fault::at(
            line,
            format!("cannot decode `{text}` as a !!{tag}"),
        ))
    }
}

impl Node {
    fn new(line: usize, content: Content) -> Self {
        let (nodes, depth) = match &content {
            Content::Scalar(..) => (1, 0),
            Content::List(items) => size_of(items.iter()),
            Content::Map(entries) => size_of(entries.iter().flat_map(|(key, value)| [key, value])),
        };
        Self {
            line,
            content,
            nodes,
            depth,
        }
    }

    /// A scalar's own text; empty for a list or map.
    pub(super) fn text(&self) -> &str {
        match &self.content {
            Content::Scalar(text, _) => text,
            _ => "",
        }
    }

    /// Whether this is a null.
    pub(super) fn is_null(&self) -> bool {
        matches!(self.content, Content::Scalar(_, Value::Null))
    }

    /// A scalar's text after yaml.v3 has resolved and printed it (VP-12): empty for null, `None`
    /// for a list or map.
    pub(super) fn printed(&self) -> Option<String> {
        match &self.content {
            Content::Scalar(text, value) => Some(value.print(text)),
            _ => None,
        }
    }

    /// The Go type that yaml.v3 decodes this into when nothing is wanted.
    pub(super) fn go_type(&self) -> &'static str {
        match &self.content {
            Content::Scalar(_, value) => value.go_type(),
            Content::List(_) => "[]interface {}",
            Content::Map(entries) => {
                let text = |(key, _): &(Node, Node)| {
                    matches!(key.content, Content::Scalar(_, Value::Text))
                };
                if entries.iter().all(text) {
                    "map[string]interface {}"
                } else {
                    "map[interface {}]interface {}"
                }
            }
        }
    }

    /// A string field decoded directly: the text as written, empty for null.
    pub(super) fn string(&self) -> Result<String, Fault> {
        match &self.content {
            Content::Scalar(_, Value::Null) => Ok(String::new()),
            Content::Scalar(text, _) => Ok(text.clone()),
            _ => Err(self.mismatch("string")),
        }
    }

    /// The entries of a map; none for null.
    pub(super) fn entries(&self) -> Result<&[(Node, Node)], Fault> {
        match &self.content {
            Content::Map(entries) => Ok(entries),
            Content::Scalar(_, Value::Null) => Ok(&[]),
            _ => Err(self.mismatch("map")),
        }
    }

    /// The items of a list; none for null.
    pub(super) fn items(&self, wanted: &str) -> Result<&[Node], Fault> {
        match &self.content {
            Content::List(items) => Ok(items),
            Content::Scalar(_, Value::Null) => Ok(&[]),
            _ => Err(self.mismatch(wanted)),
        }
    }

    /// The fields of a struct: a map with known keys only; none for null.
    pub(super) fn fields(
        &self,
        of: &str,
        known: &[&'static str],
    ) -> Result<Vec<(&'static str, &Node)>, Fault> {
        let entries = match &self.content {
            Content::Map(entries) => entries.as_slice(),
            Content::Scalar(_, Value::Null) => &[],
            _ => return Err(self.mismatch(of)),
        };
        let field = |(key, value)| {
            let key: &Node = key;
            let name = known.iter().find(|name| **name == key.text());
            name.map(|name| (*name, value)).ok_or_else(|| {
                let fault = format!("field {} not found in type {of}", key.text());
                Fault::at(key.line, fault)
            })
        };
        entries
            .iter()
            .map(|(key, value)| field((key, value)))
            .collect()
    }

    /// The fault of a node that has another shape than wanted.
    pub(super) fn mismatch(&self, wanted: &str) -> Fault {
        let found = match &self.content {
            Content::Scalar(text, value) => format!("{} `{text}`", value.tag()),
            Content::List(_) => "!!seq".to_owned(),
            Content::Map(_) => "!!map".to_owned(),
        };
        Fault::at(self.line, format!("cannot unmarshal {found} into {wanted}"))
    }
}

fn size_of<'a>(inner: impl Iterator<Item = &'a Node>) -> (usize, usize) {
    inner.fold((1, 0), |(nodes, depth), node| {
        (nodes + node.nodes, depth.max(node.depth + 1))
    })
}
