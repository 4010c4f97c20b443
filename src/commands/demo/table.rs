//! The figures as text for a person: two tables and what they mean. Pure.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};

use super::figures::{Outcome, Report};
use super::seconds::{measured, plain};

/// The whole text.
pub fn text(report: &Report) -> String {
    format!(
        "\n{}\n\nEach volume, counted from the create of its VolumeSnapshot:\n\n{}\n\n{}",
        windows(report),
        volumes(report),
        meaning(report)
    )
}

/// One row per strategy.
fn windows(report: &Report) -> Table {
    let mut table = markdown(&[
        ("strategy", CellAlignment::Left),
        ("the plugin looks", CellAlignment::Left),
        ("guest frozen for", CellAlignment::Right),
        (
            &format!("Windows VSS, {}", plain(report.thaw)),
            CellAlignment::Left,
        ),
        ("API requests per PVC", CellAlignment::Right),
    ]);
    for outcome in &report.strategies {
        table.add_row([
            outcome.strategy.to_owned(),
            outcome.looks_at.clone(),
            measured(outcome.window),
            verdict(report, outcome),
            requests_per_pvc(outcome),
        ]);
    }
    table
}

fn verdict(report: &Report, outcome: &Outcome) -> String {
    if outcome.in_time {
        format!(
            "OK, {} left",
            measured(report.thaw.saturating_sub(outcome.window))
        )
    } else {
        format!(
            "MISSED by {}",
            measured(outcome.window.saturating_sub(report.thaw))
        )
    }
}

/// One digit after the point.
fn requests_per_pvc(outcome: &Outcome) -> String {
    let tenths = outcome.requests.saturating_mul(10) / outcome.volumes.len().max(1);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// One row per volume and strategy.
fn volumes(report: &Report) -> Table {
    use CellAlignment::{Left, Right};
    let mut table = markdown(&[
        ("strategy", Left),
        ("volume", Left),
        ("created at", Right),
        ("cut by the storage", Right),
        ("bound seen", Right),
        ("handle seen", Right),
        ("looks", Right),
        ("API requests", Right),
    ]);
    for outcome in &report.strategies {
        for volume in &outcome.volumes {
            table.add_row([
                outcome.strategy.to_owned(),
                volume.pvc.clone(),
                measured(volume.created_at),
                measured(volume.cut_after),
                measured(volume.bound_after),
                measured(volume.handle_after),
                volume.looks.to_string(),
                volume.requests.to_string(),
            ]);
        }
    }
    table
}

/// What the numbers say, and what to do next.
fn meaning(report: &Report) -> String {
    let volumes = match report.volumes {
        1 => "1 volume".to_owned(),
        volumes => format!("{volumes} volumes, one after the other"),
    };
    let unseen: Vec<String> = report
        .strategies
        .iter()
        .map(|outcome| {
            format!(
                "  {:<5}  {} frozen although the snapshot was there already\n",
                outcome.strategy,
                measured(outcome.unseen()),
            )
        })
        .collect();
    format!(
        "Windows thaws its disks by itself {} after the freeze; what is cut later is not consistent.\n\
         The storage needs {} for {volumes}; the rest is waiting for the next look:\n\
         {}{}\
         Next: put the plugin beside your Velero, section \"Install into Velero\" of README.md.\n",
        plain(report.thaw),
        plain(report.storage_time()),
        unseen.concat(),
        advice(report),
    )
}

fn advice(report: &Report) -> String {
    let find = |name: &str| report.strategies.iter().find(|one| one.strategy == name);
    let (Some(slow), Some(early)) = (find("slow"), find("early")) else {
        return String::new();
    };
    let saved = slow.window.saturating_sub(early.window);
    let mut text = if saved < Duration::from_millis(100) {
        "With this storage, looking early makes no difference.\n".to_owned()
    } else {
        format!(
            "VELERO_CSI_EARLY_FAST_POLL=true freezes the guest {} less.\n",
            plain(saved)
        )
    };
    if !early.in_time && !slow.in_time {
        text.push_str("This storage is too slow for so many volumes with either strategy.\n");
    }
    text
}

fn markdown(columns: &[(&str, CellAlignment)]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_header(columns.iter().map(|(title, _)| *title));
    for (column, (_, alignment)) in table.column_iter_mut().zip(columns) {
        column.set_cell_alignment(*alignment);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::arguments::Arguments;
    use super::super::figures::Volume;
    use super::*;

    fn outcome(strategy: &'static str, each: u64, volumes: u64) -> Outcome {
        let time = Duration::from_secs;
        let volumes: Vec<Volume> = (0..volumes)
            .map(|number| Volume {
                pvc: format!("data-{number}"),
                snapshot: format!("velero-data-{number}-x"),
                content: format!("snapcontent-{number}"),
                handle: format!("snap-{number}"),
                created_at: time(number * each),
                cut_after: Duration::from_millis(1200),
                bound_after: Duration::ZERO,
                handle_after: time(each),
                execute: time(each),
                looks: 2,
                requests: 7,
            })
            .collect();
        let window: Duration = volumes.iter().map(|volume| volume.execute).sum();
        Outcome {
            strategy,
            looks_at: "every 5s".to_owned(),
            window,
            in_time: window < super::super::figures::THAW,
            handshake: Duration::from_millis(3),
            warm_up_requests: 1,
            requests: volumes.iter().map(|volume| volume.requests).sum(),
            exit_status: Some(0),
            volumes,
        }
    }

    fn report(outcomes: Vec<Outcome>) -> Report {
        let mut report = Report::new(&Arguments::default());
        report.strategies = outcomes;
        report
    }

    #[test]
    fn both_strategies_then_both_verdicts_and_what_is_saved() {
        let text = text(&report(vec![outcome("slow", 5, 4), outcome("early", 2, 4)]));
        for line in [
            "| slow     | every 5s         |          20.00 s | MISSED by 10.00 s |                  7.0 |",
            "| early    | every 5s         |           8.00 s | OK, 2.00 s left   |                  7.0 |",
            "| slow     | data-3 |    15.00 s |             1.20 s |     0.00 s |      5.00 s |     2 |            7 |",
            "The storage needs 4.8 s for 4 volumes, one after the other; the rest",
            "  slow   15.20 s frozen although the snapshot was there already",
            "  early  3.20 s frozen although the snapshot was there already",
            "VELERO_CSI_EARLY_FAST_POLL=true freezes the guest 12 s less.",
            "section \"Install into Velero\" of README.md",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("too slow"), "{text}");
    }

    #[test]
    fn nothing_saved_and_both_missed_then_no_promise() {
        let text = text(&report(vec![outcome("slow", 5, 4), outcome("early", 5, 4)]));
        assert!(text.contains("looking early makes no difference"), "{text}");
        assert!(text.contains("too slow for so many volumes"), "{text}");
        assert!(!text.contains("less."), "{text}");
    }

    #[test]
    fn one_strategy_then_no_comparison() {
        let text = text(&report(vec![outcome("early", 2, 1)]));
        assert!(!text.contains("VELERO_CSI_EARLY_FAST_POLL"), "{text}");
        assert!(text.contains("OK, 8.00 s left"), "{text}");
    }

    #[test]
    fn requests_then_one_digit() {
        let mut three = outcome("slow", 5, 3);
        three.requests = 20;
        assert_eq!(requests_per_pvc(&three), "6.6");
        three.volumes.clear();
        assert_eq!(requests_per_pvc(&three), "20.0");
    }
}
