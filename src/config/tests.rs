//! What environment and flags become.

use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use super::*;
use crate::cli;

fn from(environment: &[(&str, &str)], line: &str) -> (Settings, Vec<BadSetting>) {
    let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let lookup = |name: &str| {
        environment
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| OsString::from(*value))
    };
    read(&lookup, &cli::flags(&argv))
}

fn names(bad: &[BadSetting]) -> Vec<&str> {
    bad.iter().map(|bad| bad.variable.as_str()).collect()
}

#[test]
fn nothing_set_gives_the_defaults() {
    assert_eq!(from(&[], ""), (Settings::default(), Vec::new()));
}

/// Design section 2, row "early phase".
#[test]
fn early_switch_follows_ours_then_upstreams_name() {
    const OURS: &str = "VELERO_CSI_EARLY_FAST_POLL";
    const UPSTREAM: &str = "CSI_SNAPSHOT_EARLY_FREQUENT_POLLING";
    type Row<'a> = (&'a [(&'a str, &'a str)], bool, Option<&'static str>, usize);
    let table: [Row<'_>; 10] = [
        (&[], false, None, 0),
        (&[(OURS, "true")], true, Some(OURS), 0),
        (&[(OURS, "0")], false, Some(OURS), 0),
        (&[(OURS, ""), (UPSTREAM, "true")], true, Some(UPSTREAM), 0),
        (&[(UPSTREAM, "T")], true, Some(UPSTREAM), 0),
        (&[(OURS, "false"), (UPSTREAM, "true")], false, Some(OURS), 0),
        (&[(OURS, "yes"), (UPSTREAM, "true")], false, Some(OURS), 1),
        (&[(OURS, " true")], false, Some(OURS), 1),
        (&[(UPSTREAM, "on")], false, Some(UPSTREAM), 1),
        (&[(OURS, ""), (UPSTREAM, "")], false, None, 0),
    ];
    for (environment, on, variable, bad) in table {
        let (settings, found) = from(environment, "");
        assert_eq!(
            settings.early,
            EarlySwitch { on, variable },
            "{environment:?}"
        );
        assert_eq!(found.len(), bad, "{environment:?}");
    }
}

#[test]
fn every_bad_value_is_named_and_none_stops_the_others() {
    let (settings, bad) = from(
        &[
            ("VELERO_CSI_EARLY_FAST_POLL", "maybe"),
            ("VELERO_CSI_EARLY_WINDOW", "-10s"),
            ("VELERO_CSI_EARLY_INTERVAL", "1ms"),
            ("VELERO_CSI_POLL_INTERVAL", "2s"),
            ("VELERO_CSI_CALL_TIMEOUT", "5"),
            ("VELERO_CSI_EXCLUDED_LABELS", "a/b, kustomize.*,, c d,*x"),
        ],
        "--client-qps=fast --client-burst -1 --client-page-size 0 --log-level loud --features",
    );
    assert_eq!(
        names(&bad),
        [
            "VELERO_CSI_EARLY_FAST_POLL",
            "VELERO_CSI_EARLY_WINDOW",
            "VELERO_CSI_EARLY_INTERVAL",
            "VELERO_CSI_CALL_TIMEOUT",
            "VELERO_CSI_EXCLUDED_LABELS",
            "--log-level",
            "--client-qps",
            "--client-burst",
            "--client-page-size",
        ]
    );
    assert_eq!(settings.poll_interval, Duration::from_secs(2));
    assert_eq!(settings.early_interval, Duration::from_millis(100));
    assert_eq!(settings.early_window, Duration::from_secs(10));
    assert_eq!(settings.label_deny, ["a/b", "kustomize.*"]);
    assert_eq!(settings.features, None);
    assert!(settings.argv_present);
}

#[test]
fn odd_numbers_for_the_client_keep_velero_defaults() {
    for text in ["0", "-5", "NaN", "inf", "1e9", "100001", "x", ""] {
        let (settings, bad) = from(&[], &format!("--client-qps={text} --client-burst={text}"));
        assert_eq!(settings.client_qps.to_string(), "100", "{text}");
        assert_eq!(settings.client_burst, 100, "{text}");
        assert_eq!(bad.len(), 2, "{text}");
    }
    let (settings, bad) = from(
        &[],
        "--client-qps=12.5 --client-burst=7 --client-page-size 50",
    );
    assert_eq!(settings.client_qps.to_string(), "12.5");
    assert_eq!((settings.client_burst, settings.client_page_size), (7, 50));
    assert!(bad.is_empty());
}

#[test]
fn log_levels_are_read_as_logrus_does() {
    for (text, level) in [
        ("trace", LogLevel::Trace),
        ("debug", LogLevel::Debug),
        ("INFO", LogLevel::Info),
        ("warning", LogLevel::Warn),
        ("warn", LogLevel::Warn),
        ("error", LogLevel::Error),
        ("fatal", LogLevel::Error),
        ("panic", LogLevel::Error),
    ] {
        let (settings, bad) = from(&[], &format!("--log-level {text}"));
        assert_eq!(settings.log_level, level, "{text}");
        assert!(bad.is_empty(), "{text}");
    }
}

#[test]
fn value_that_is_not_utf8_is_a_bad_setting() {
    let lookup = |name: &str| {
        (name == "VELERO_CSI_EARLY_WINDOW").then(|| OsString::from_vec(vec![b'1', 0xff, b's']))
    };
    let (settings, bad) = read(&lookup, &Flags::default());
    assert_eq!(settings, Settings::default());
    assert_eq!(bad.len(), 1);
    assert_eq!(bad[0].value, "1\u{fffd}s");
}

#[test]
fn features_of_argv_are_kept_in_three_states() {
    assert_eq!(from(&[], "").0.features, None);
    assert_eq!(from(&[], "--features=").0.features, Some(Vec::new()));
    assert_eq!(
        from(&[], "--features EnableCSI").0.features,
        Some(vec!["EnableCSI".to_owned()])
    );
}
