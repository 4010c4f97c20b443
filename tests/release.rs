//! What is released together agrees: versions, and the names that the documentation owes the reader.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends at the first thing that is not as expected"
)]

use std::path::Path;

use velero_plugin_csi_fastpoll::model::knobs::Knob;
use velero_plugin_csi_fastpoll::model::names::{ACTION, ANNOTATION_TAKE_OVER, PLUGIN};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const CHART: &str = "charts/velero-plugin-csi-fastpoll";

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The value of a top-level key of a YAML text.
fn value<'a>(yaml: &'a str, key: &str) -> &'a str {
    let mut found = yaml
        .lines()
        .filter_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let value = found.next().unwrap_or_else(|| panic!("no {key}"));
    assert_eq!(found.next(), None, "{key} is there twice");
    value.trim().trim_matches('"')
}

/// Versions of a changelog's headings `## [VERSION]`, newest first.
fn headings(changelog: &str) -> Vec<&str> {
    changelog
        .lines()
        .filter_map(|line| line.strip_prefix("## [")?.split_once(']'))
        .map(|(version, _)| version)
        .collect()
}

/// Names of all `VARIABLE_…` constants in a source.
fn variables(source: &str) -> Vec<&str> {
    source
        .lines()
        .filter_map(|line| {
            let (_, value) = line
                .strip_prefix("pub const VARIABLE_")?
                .split_once(": &str = ")?;
            value.strip_suffix(';')
        })
        .map(|value| value.trim_matches('"'))
        .collect()
}

#[test]
fn chart_then_its_name_and_both_versions_are_those_of_the_crate() {
    let chart = read(&format!("{CHART}/Chart.yaml"));
    assert_eq!(value(&chart, "name"), PLUGIN);
    assert_eq!(value(&chart, "version"), VERSION);
    assert_eq!(value(&chart, "appVersion"), VERSION);
}

#[test]
fn chart_is_installed_then_its_notes_name_the_plugin() {
    assert!(read(&format!("{CHART}/templates/NOTES.txt")).contains(PLUGIN));
}

#[test]
fn changelog_then_its_newest_version_is_that_of_the_crate() {
    let changelog = read("CHANGELOG.md");
    let headings = headings(&changelog);
    let newest = headings.iter().find(|heading| **heading != "Unreleased");
    assert_eq!(newest, Some(&VERSION), "{headings:?}");
    let unreleased = headings.iter().position(|heading| *heading == "Unreleased");
    assert!(unreleased.is_none_or(|place| place == 0), "{headings:?}");
}

/// A setting that the README does not name cannot be found.
#[test]
fn settings_then_the_readme_names_every_variable_and_annotation() {
    let readme = read("README.md");
    let settings = read("src/model/settings.rs");
    let variables = variables(&settings);
    for knob in Knob::ALL {
        assert!(variables.contains(&knob.variable()), "{variables:?}");
    }
    let annotations = Knob::ALL.map(Knob::annotation);
    let missing: Vec<&str> = variables
        .into_iter()
        .chain(annotations)
        .chain([ANNOTATION_TAKE_OVER, ACTION])
        .filter(|name| !readme.contains(name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

/// What a person gets without the README.
#[test]
fn settings_then_the_help_names_every_variable_of_ours() {
    let settings = read("src/model/settings.rs");
    let help = velero_plugin_csi_fastpoll::cli::HELP;
    let missing: Vec<&str> = variables(&settings)
        .into_iter()
        .filter(|name| name.contains("CSI") && !help.contains(name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn readers_of_this_test_find_what_is_there_and_nothing_else() {
    assert_eq!(
        value("a: 1\nversion: \"2.0\"\n  version: 3", "version"),
        "2.0"
    );
    let changelog =
        "# Changelog\n## [Unreleased]\n### Added\n- x\n## [0.2.0] - 2026-01-01\n## [0.1.0]\n";
    assert_eq!(headings(changelog), ["Unreleased", "0.2.0", "0.1.0"]);
    let source = "/// x\npub const VARIABLE_A: &str = \"A_B\";\npub const OTHER: &str = \"C\";";
    assert_eq!(variables(source), ["A_B"]);
}

/// The README's numbers are those of the published benchmark, which makes its own from the samples.
#[test]
fn freeze_windows_then_the_readme_has_those_of_the_benchmark() {
    let readme = read("README.md");
    let report = read("docs/benchmarks/freeze-windows.md");
    let (_, rest) = readme
        .split_once("<!-- freeze-windows:begin -->\n")
        .unwrap();
    let (numbers, _) = rest.split_once("<!-- freeze-windows:end -->\n").unwrap();
    assert!(numbers.contains("| ours ÷ built-in |"), "{numbers}");
    assert!(report.contains(numbers), "{numbers}");
}
