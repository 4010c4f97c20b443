//! Every form in which Velero and people write the command line.

use proptest::prelude::*;

use super::*;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn found(line: &str) -> Flags {
    flags(&words(line))
}

#[test]
fn cookie_makes_every_command_line_serve() {
    for line in [
        "",
        "--help",
        "--version",
        "install /x",
        "demo",
        "--features EnableCSI",
        "x -v 4",
    ] {
        assert_eq!(mode(&words(line), true), Mode::Serve, "{line}");
    }
}

#[test]
fn person_gets_what_the_first_word_says() {
    let table = [
        ("--version", Mode::Version),
        ("--help", Mode::Help),
        ("-h", Mode::Help),
        ("install --help", Mode::Help),
        (
            "install /plugins",
            Mode::Install {
                target: "/plugins".into(),
            },
        ),
        ("install", Mode::InstallUsage),
        ("install a b", Mode::InstallUsage),
        (
            "demo --volumes 4",
            Mode::Demo {
                arguments: words("--volumes 4"),
            },
        ),
        ("", Mode::NotByHand),
        ("--features EnableCSI", Mode::NotByHand),
        ("serve", Mode::NotByHand),
    ];
    for (line, expected) in table {
        assert_eq!(mode(&words(line), false), expected, "{line}");
    }
}

#[test]
fn no_arguments_are_no_flags() {
    assert_eq!(found(""), Flags::default());
    assert!(found("--restore-only").present);
}

/// F76.
#[test]
fn field_case_reads_the_four_flags_and_ignores_the_rest() {
    let flags = found(
        "--features=EnableCSI --log-level debug --uploader-type=kopia --client-qps=50 \
         --client-burst 60 --default-item-operation-timeout=4h --unknown --bool-flag=false -v 4 \
         positional",
    );
    assert_eq!(flags.features, Some(vec!["EnableCSI".to_owned()]));
    assert_eq!(flags.log_level.as_deref(), Some("debug"));
    assert_eq!(flags.client_qps.as_deref(), Some("50"));
    assert_eq!(flags.client_burst.as_deref(), Some("60"));
}

/// P-15, the check list's own line.
#[test]
fn boolean_flag_never_swallows_the_next_word() {
    for boolean in [
        "--restore-only",
        "--default-volumes-to-fs-backup",
        "--default-snapshot-move-data",
        "--disable-informer-cache",
        "--schedule-skip-immediately",
        "--colorized",
        "--logtostderr",
        "--alsologtostderr",
        "--add_dir_header",
        "--skip_headers",
        "--skip_log_headers",
        "--one_output",
        "--legacy_stderr_threshold_behavior",
    ] {
        let flags = found(&format!(
            "{boolean} --features EnableCSI {boolean} --log-level warning"
        ));
        assert_eq!(
            flags.features,
            Some(vec!["EnableCSI".to_owned()]),
            "{boolean}"
        );
        assert_eq!(flags.log_level.as_deref(), Some("warning"), "{boolean}");
    }
}

/// A 4.4, the complete list: each in both forms before and after a flag of interest.
#[test]
fn every_server_flag_is_tolerated_in_both_forms() {
    for (name, value) in [
        ("backup-sync-period", "1m"),
        ("default-backup-storage-location", "default"),
        ("default-backup-ttl", "720h"),
        ("default-item-operation-timeout", "4h"),
        ("default-repo-maintain-frequency", "0"),
        ("default-volume-snapshot-locations", "aws:us-east-1"),
        ("disable-controllers", "gc,schedule"),
        ("fs-backup-timeout", "4h"),
        ("garbage-collection-frequency", "0"),
        ("item-operation-sync-frequency", "10s"),
        ("log-format", "text"),
        ("max-concurrent-k8s-connections", "30"),
        ("metrics-address", ":8085"),
        ("plugin-dir", "/plugins"),
        ("profiler-address", "localhost:6060"),
        ("resource-timeout", "10m"),
        ("restore-resource-priorities", "namespaces,-,clusters"),
        ("store-validation-frequency", "1m"),
        ("terminating-resource-timeout", "10m"),
        ("uploader-type", "kopia"),
        ("keep-latest-maintenance-jobs", "3"),
        ("maintenance-job-cpu-request", "0"),
        ("maintenance-job-cpu-limit", "0"),
        ("maintenance-job-mem-request", "0"),
        ("maintenance-job-mem-limit", "0"),
        ("backup-repository-configmap", "x"),
        ("repo-maintenance-job-configmap", "x"),
        ("item-block-worker-count", "1"),
        ("volume-group-snapshot-label-key", "velero.io/volume-group"),
        ("concurrent-backups", "1"),
        ("default-resource-modifier-configmap", "x"),
        ("max-backup-extraction-size", "10Gi"),
        ("stderrthreshold", "2"),
        ("log_backtrace_at", ":0"),
        ("vmodule", "x=1"),
    ] {
        for form in [format!("--{name}={value}"), format!("--{name} {value}")] {
            let line = format!("{form} --client-qps 7 {form} --kubecontext=c {form}");
            let expected = Flags {
                present: true,
                client_qps: Some("7".into()),
                kubecontext: Some("c".into()),
                ..Flags::default()
            };
            assert_eq!(found(&line), expected, "{line}");
        }
    }
}

#[test]
fn every_flag_of_interest_is_read_in_both_forms() {
    let line_spaced = "--log-level a --features b --client-qps c --client-burst d \
         --client-page-size e --kubeconfig g --kubecontext h \
         --global-backup-volume-policies-configmap i";
    let line_joined = "--log-level=a --features=b --client-qps=c --client-burst=d \
         --client-page-size=e --kubeconfig=g --kubecontext=h \
         --global-backup-volume-policies-configmap=i";
    let flags = found(line_spaced);
    assert_eq!(flags, found(line_joined));
    assert_eq!(flags.global_policy_configmap.as_deref(), Some("i"));
}

#[test]
fn last_value_counts_and_a_list_of_features_is_one_value() {
    let flags = found("--log-level debug --features=A,B --log-level=error --features C,D,,");
    assert_eq!(flags.log_level.as_deref(), Some("error"));
    assert_eq!(flags.features, Some(words("C D")));
    assert_eq!(found("--features=").features, Some(Vec::new()));
    assert_eq!(
        super::flags(&["--features".to_owned(), "A, EnableCSI".to_owned()]).features,
        Some(vec!["A".to_owned(), " EnableCSI".to_owned()]),
        "the server has CSI off as well"
    );
    assert_eq!(
        found("--features=EnableCSI --features=").features,
        Some(Vec::new()),
        "the server has turned CSI off"
    );
}

#[test]
fn nothing_counts_after_two_dashes() {
    assert_eq!(
        found("--client-qps 1 -- --client-qps 2")
            .client_qps
            .as_deref(),
        Some("1")
    );
}

#[test]
fn flag_of_interest_at_the_end_without_value_is_as_if_absent() {
    assert_eq!(found("--log-level").log_level, None);
}

#[test]
fn help_names_every_setting_of_the_environment() {
    use crate::model::knobs::Knob;
    use crate::model::settings::{VARIABLE_EARLY_UPSTREAM, VARIABLE_EXCLUDED_LABELS};
    let names = Knob::ALL.map(Knob::variable);
    for name in names
        .iter()
        .chain(&[VARIABLE_EARLY_UPSTREAM, VARIABLE_EXCLUDED_LABELS])
    {
        assert!(HELP.contains(name), "{name}");
    }
}

proptest! {
    #[test]
    fn any_argv_is_answered(argv in proptest::collection::vec("\\PC{0,12}|--?[a-z=-]{0,12}|-n=?|--features=?,*", 0..12)) {
        let _ = flags(&argv);
        prop_assert_eq!(mode(&argv, true), Mode::Serve);
        let _ = mode(&argv, false);
    }

    #[test]
    fn unknown_flags_around_never_change_what_is_found(
        before in proptest::collection::vec("--x[a-z-]{0,8}(=[a-z0-9=]{0,6})?|[a-z0-9:/]{1,8}|-v", 0..6),
        after in proptest::collection::vec("--x[a-z-]{0,8}(=[a-z0-9=]{0,6})?|[a-z0-9:/]{1,8}|-v", 0..6),
    ) {
        let middle = words("--client-qps 50 --features EnableCSI -n velero");
        let argv: Vec<String> = before.into_iter().chain(middle.clone()).chain(after).collect();
        prop_assert_eq!(flags(&argv), flags(&middle));
    }
}
