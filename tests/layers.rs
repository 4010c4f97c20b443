//! The architecture as a test: which layer may name which, and what `rules` and `model` may
//! not contain. Reads the sources with syn: use trees, inline paths, attributes and the tokens
//! of macros. Proves itself on planted violations of every arrow.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// The crate's name in paths of the binary.
const CRATE: &str = "velero_plugin_csi_fastpoll";

/// Longest file without tests (design section 7).
const LINES: usize = 400;

/// The layers: top-level modules, and the layers that they may name beside themselves.
const LAYERS: [(&str, &[&str], &[&str]); 10] = [
    (
        "shell",
        &["main", "cli", "config", "logging", "install"],
        &["wire", "server", "story", "commands", "model"],
    ),
    // Velero's services on the generic plugin server.
    (
        "wire",
        &["velero"],
        &["server", "proto", "story", "model", "wait"],
    ),
    // The generic plugin server knows nothing of Velero.
    ("server", &["goplugin"], &["proto", "wait"]),
    ("proto", &["proto"], &[]),
    (
        "commands",
        &["commands"],
        &["proto", "story", "rules", "cluster", "model", "wait"],
    ),
    ("story", &["action"], &["rules", "cluster", "model", "wait"]),
    ("rules", &["rules"], &["model"]),
    ("cluster", &["cluster"], &["model", "wait"]),
    ("wait", &["wait"], &["model"]),
    ("model", &["model", "error"], &[]),
];

/// Layers that only compute: no async, tokio, client, clock, environment, files or log.
const PURE: [&str; 2] = ["rules", "model"];

/// Beginnings of paths that a pure layer may not name.
const IMPURE: [&[&str]; 29] = [
    &["tokio"],
    &["tokio_util"],
    &["tokio_stream"],
    &["futures"],
    &["futures_util"],
    &["fastrand"],
    &["hyper_util"],
    &["kube"],
    &["tonic"],
    &["tower"],
    &["http"],
    &["hyper"],
    &["leaky_bucket"],
    &["rustix"],
    &["tracing"],
    &["tracing_subscriber"],
    &["log"],
    &["std", "env"],
    &["std", "fs"],
    &["std", "net"],
    &["std", "process"],
    &["std", "thread"],
    &["std", "time", "Instant"],
    &["std", "time", "SystemTime"],
    &["std", "io", "stdout"],
    &["std", "io", "stderr"],
    &["jiff", "Timestamp", "now"],
    &["jiff", "Zoned", "now"],
    &["kube_api"],
];

/// Names that show impurity wherever they stand: `Timestamp::now()` after an import, and prints.
const IMPURE_NAMES: [&str; 8] = [
    "Instant",
    "SystemTime",
    "println",
    "eprintln",
    "print",
    "eprint",
    "dbg",
    "now",
];

fn layer_of(module: &str) -> Option<&'static str> {
    LAYERS
        .iter()
        .find(|(_, modules, _)| modules.contains(&module))
        .map(|(layer, ..)| *layer)
}

fn may_name(from: &str, to: &str) -> bool {
    from == to
        || LAYERS
            .iter()
            .any(|(layer, _, others)| *layer == from && others.contains(&to))
}

/// What is wrong with one source file; `file` is its path below `src`.
fn violations(file: &str, source: &str) -> Vec<String> {
    let module = module_of(Path::new(file));
    // The map names every layer and contains nothing else.
    let Some(top) = module.first().cloned() else {
        return Vec::new();
    };
    let Some(layer) = layer_of(&top) else {
        return vec![format!("{file}: module {top} belongs to no layer")];
    };
    let parsed = syn::parse_file(source).unwrap_or_else(|error| panic!("{file}: {error}"));
    let is_tests = module.last().is_some_and(|last| last == "tests");
    let mut check = Check {
        file,
        layer,
        module,
        tests: usize::from(is_tests),
        found: Vec::new(),
    };
    check.visit_file(&parsed);
    check.found
}

/// `model/names.rs` is `[model, names]`, `model/mod.rs` is `[model]`, `lib.rs` is `[]`.
fn module_of(file: &Path) -> Vec<String> {
    let mut module: Vec<String> = file
        .with_extension("")
        .components()
        .map(|part| part.as_os_str().to_str().unwrap().to_owned())
        .collect();
    if module
        .last()
        .is_some_and(|last| last == "mod" || last == "lib")
    {
        module.pop();
    }
    module
}

struct Check<'a> {
    file: &'a str,
    layer: &'static str,
    /// Where in the crate the visitor is.
    module: Vec<String>,
    /// How many test modules the visitor is in.
    tests: usize,
    found: Vec<String>,
}

impl Check<'_> {
    fn report(&mut self, what: &str) {
        self.found
            .push(format!("{} ({}): {what}", self.file, self.layer));
    }

    fn is_pure_code(&self) -> bool {
        PURE.contains(&self.layer) && self.tests == 0
    }

    /// One path, as written.
    fn path(&mut self, segments: &[String]) {
        let Some(first) = segments.first() else {
            return;
        };
        let shown = segments.join("::");
        if let Some(absolute) = self.absolute(segments) {
            match absolute.first().map(String::as_str) {
                None | Some("*") if segments.len() == 1 || first == "crate" => {
                    self.report(&format!("{shown} hides what it names"));
                }
                None | Some("*") => {}
                Some(top) => match layer_of(top) {
                    Some(layer) if may_name(self.layer, layer) => {}
                    Some(layer) => self.report(&format!("{shown} is in {layer}")),
                    None => self.report(&format!("{shown} belongs to no layer")),
                },
            }
            return;
        }
        if !self.is_pure_code() {
            return;
        }
        let begins = |start: &&&[&str]| {
            start.len() <= segments.len() && start.iter().zip(segments).all(|(a, b)| a == b)
        };
        if IMPURE.iter().any(|start| begins(&start))
            || segments
                .iter()
                .any(|segment| IMPURE_NAMES.contains(&segment.as_str()))
        {
            self.report(&format!("{shown} has no place in a pure layer"));
        }
    }

    /// A path into this crate from its root, else `None`.
    fn absolute(&self, segments: &[String]) -> Option<Vec<String>> {
        let mut rest = segments;
        let mut base = match rest.first()?.as_str() {
            "crate" | CRATE => Vec::new(),
            "self" | "super" => self.module.clone(),
            _ => return None,
        };
        while let Some((word, after)) = rest.split_first() {
            match word.as_str() {
                "crate" | CRATE | "self" => {}
                "super" => drop(base.pop()),
                _ => break,
            }
            rest = after;
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    fn use_tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| {
            let mut path = before.to_vec();
            path.push(name.to_string());
            path
        };
        match tree {
            syn::UseTree::Path(path) => self.use_tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) if name.ident == "self" => self.path(before),
            syn::UseTree::Name(name) => self.path(&with(&name.ident)),
            syn::UseTree::Rename(rename) if rename.ident == "self" => self.path(before),
            syn::UseTree::Rename(rename) => self.path(&with(&rename.ident)),
            syn::UseTree::Glob(_) => {
                let mut path = before.to_vec();
                path.push("*".to_owned());
                self.path(&path);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.use_tree(before, tree);
                }
            }
        }
    }

    /// Chains `a::b::c` among the tokens of a macro, and `await` and `async`.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut chain: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    let name = ident.to_string();
                    if colons != 2 {
                        self.path(&std::mem::take(&mut chain));
                    }
                    if (name == "await" || name == "async") && self.is_pure_code() {
                        self.report("async in a macro");
                    }
                    chain.push(name);
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                other => {
                    self.path(&std::mem::take(&mut chain));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.path(&chain);
    }

    fn no_async(&mut self) {
        if self.is_pure_code() {
            self.report("async in a pure layer");
        }
    }
}

fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => {
            list.path.is_ident("cfg") && list.tokens.to_string().trim() == "test"
        }
        _ => false,
    })
}

impl<'ast> Visit<'ast> for Check<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let tests = usize::from(is_test_only(&item.attrs));
        self.tests += tests;
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
        self.tests -= tests;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let tests = usize::from(is_test_only(&item.attrs));
        self.tests += tests;
        self.use_tree(&[], &item.tree);
        self.tests -= tests;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        // `self`, `Self` and `super` alone are values, types and visibilities.
        if segments.len() > 1 || !["self", "super", "crate"].contains(&segments[0].as_str()) {
            self.path(&segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.visit_path(&item.path);
        self.tokens(item.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        visit::visit_attribute(self, attribute);
        if let syn::Meta::List(list) = &attribute.meta
            && list.path.is_ident("derive")
        {
            self.tokens(list.tokens.clone());
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        if signature.asyncness.is_some() {
            self.no_async();
        }
        visit::visit_signature(self, signature);
    }

    fn visit_expr_async(&mut self, expression: &'ast syn::ExprAsync) {
        self.no_async();
        visit::visit_expr_async(self, expression);
    }

    fn visit_expr_await(&mut self, expression: &'ast syn::ExprAwait) {
        self.no_async();
        visit::visit_expr_await(self, expression);
    }

    fn visit_expr_closure(&mut self, expression: &'ast syn::ExprClosure) {
        if expression.asyncness.is_some() {
            self.no_async();
        }
        visit::visit_expr_closure(self, expression);
    }

    fn visit_expr_method_call(&mut self, expression: &'ast syn::ExprMethodCall) {
        if self.is_pure_code() && expression.method == "now" {
            self.report("a clock in a pure layer");
        }
        visit::visit_expr_method_call(self, expression);
    }
}

// ---- the sources

fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut directories = vec![root.clone()];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    let name = |path: &Path| {
        path.strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    files
        .iter()
        .map(|path| (name(path), std::fs::read_to_string(path).unwrap()))
        .collect()
}

#[test]
fn layers_name_each_other_only_downwards() {
    let sources = sources();
    assert!(sources.len() > 20, "the sources are not found");
    let found: Vec<String> = sources
        .iter()
        .flat_map(|(file, source)| violations(file, source))
        .collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn map_of_the_crate_is_only_a_map() {
    let (_, source) = sources()
        .into_iter()
        .find(|(file, _)| file == "lib.rs")
        .unwrap();
    for item in syn::parse_file(&source).unwrap().items {
        match item {
            syn::Item::Mod(item) if item.content.is_none() => {
                let name = item.ident.to_string();
                assert!(
                    layer_of(&name).is_some(),
                    "module {name} belongs to no layer"
                );
            }
            _ => panic!("lib.rs has more than module declarations"),
        }
    }
}

#[test]
fn every_file_says_what_it_owns_and_is_short() {
    for (file, source) in sources() {
        assert!(
            source.starts_with("//! "),
            "{file} does not begin with its documentation"
        );
        let code = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = code.lines().count();
        let is_long = lines > LINES && !file.ends_with("tests.rs");
        assert!(!is_long, "{file} has {lines} lines without tests");
    }
}

// ---- planted violations

/// A file of each layer to plant in.
fn file_in(layer: &str) -> String {
    let (_, modules, _) = LAYERS.iter().find(|(name, ..)| *name == layer).unwrap();
    format!("{}/planted.rs", modules[0])
}

#[test]
fn planted_path_is_found_on_every_forbidden_arrow_and_on_no_other() {
    for (from, ..) in LAYERS {
        for (to, modules, _) in LAYERS {
            for module in modules {
                for source in [
                    format!("use crate::{module}::thing;"),
                    format!("use crate::{{{module} as other}};"),
                    format!("use {{std::fmt, crate::{{{module}::{{self, thing}}}}}};"),
                    format!("use super::super::{module}::thing;"),
                    format!("use {CRATE}::{module}::*;"),
                    format!("pub use crate::{module};"),
                    format!("fn f() {{ crate::{module}::thing(); }}"),
                    format!("fn f(x: &dyn crate::{module}::Thing) {{}}"),
                    format!("type T = Vec<Option<crate::{module}::Thing>>;"),
                    format!("fn f() {{ println!(\"{{}}\", g(crate::{module}::thing())); }}"),
                    format!("mod inner {{ use super::super::super::{module}::thing; }}"),
                    format!("#[cfg(test)] mod tests {{ use crate::{module}::thing; }}"),
                    format!("impl crate::{module}::Thing for u8 {{}}"),
                    format!("use self::super::super::{module}::thing;"),
                ] {
                    // A print is itself no pure code.
                    if source.contains("println") && PURE.contains(&from) && may_name(from, to) {
                        continue;
                    }
                    let found = violations(&file_in(from), &source);
                    assert_eq!(
                        found.is_empty(),
                        may_name(from, to),
                        "{from}: {source}: {found:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn planted_root_alias_and_unknown_module_are_found() {
    for source in [
        "use crate as root;",
        "use crate::*;",
        "use crate::{self as root};",
    ] {
        assert!(
            !violations("rules/planted.rs", source).is_empty(),
            "{source}"
        );
    }
    assert!(!violations("rules/planted.rs", "use crate::unknown::x;").is_empty());
    assert!(!violations("unknown/planted.rs", "").is_empty());
}

#[test]
fn planted_impurity_is_found_in_pure_layers_only() {
    for source in [
        "async fn f() {}",
        "fn f() { async {} ; }",
        "fn f() { g(async || {}); }",
        "fn f() { m!(x.await); }",
        "trait T { async fn f(); }",
        "use tokio::sync::Mutex;",
        "use {std::fmt, tokio as t};",
        "fn f() { tokio_util::x(); }",
        "use kube::Client;",
        "type T = kube::Api<X>;",
        "use tracing::info;",
        "fn f() { tracing::warn!(x = 1); }",
        "#[tracing::instrument] fn f() {}",
        "fn f() { std::env::var(\"X\"); }",
        "use std::{env, fmt};",
        "use std::fs;",
        "use std::time::Instant;",
        "use std::time::{Duration, SystemTime};",
        "fn f() { jiff::Timestamp::now(); }",
        "use jiff::Timestamp; fn f() { Timestamp::now(); }",
        "fn f() { println!(); }",
        "fn f() { vec![std::time::Instant::now()]; }",
        "#[cfg(not(test))] mod tests { use tokio::x; }",
    ] {
        for layer in PURE {
            assert!(
                !violations(&file_in(layer), source).is_empty(),
                "{layer}: {source}"
            );
        }
        for layer in ["cluster", "story", "shell", "wire"] {
            let found = violations(&file_in(layer), source);
            assert!(found.is_empty(), "{layer}: {source}: {found:?}");
        }
    }
}

#[test]
fn what_pure_layers_need_is_not_found() {
    for source in [
        "use k8s_openapi::api::core::v1::PersistentVolume;",
        "use std::time::Duration;",
        "use jiff::Timestamp; fn f(t: Timestamp) -> i64 { t.as_second() }",
        "use crate::model::settings::Settings; use super::other;",
        "pub(crate) fn f() {} pub(super) fn g(&self) -> Self { self.x }",
        "#[derive(Debug, serde::Deserialize)] struct S { #[serde(default)] now_or_never: u8 }",
        "#[cfg(test)] mod tests { use tokio::x; async fn f() { println!(); } }",
        "#[cfg(test)] use tokio::x;",
    ] {
        let found = violations("model/planted.rs", source);
        assert!(found.is_empty(), "{source}: {found:?}");
    }
    assert!(violations("model/x/tests.rs", "use tokio::x;").is_empty());
}
