//! Which faults happen to which requests, and when.

use std::time::Duration;

use crate::{fault::Fault, record::Recorded};

/// Which requests a fault is for; empty fields match everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matcher {
    verb: String,
    resource: String,
    namespace: String,
    name: String,
}

impl Matcher {
    /// Every request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Requests of this verb.
    pub fn verb(verb: &str) -> Self {
        Self::any().and_verb(verb)
    }

    /// Requests about this resource (or path, such as `/readyz`).
    pub fn resource(resource: &str) -> Self {
        Self {
            resource: resource.to_owned(),
            ..Self::default()
        }
    }

    /// Requests of this verb about this resource.
    pub fn on(verb: &str, resource: &str) -> Self {
        Self::resource(resource).and_verb(verb)
    }

    /// Only of this verb.
    #[must_use]
    pub fn and_verb(mut self, verb: &str) -> Self {
        verb.clone_into(&mut self.verb);
        self
    }

    /// Only in this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// Only of this name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Whether the request is meant.
    pub fn matches(&self, request: &Recorded) -> bool {
        let fits = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        fits(&self.verb, request.verb)
            && fits(&self.resource, &request.resource)
            && fits(&self.namespace, &request.namespace)
            && fits(&self.name, &request.name)
    }
}

/// When a fault happens. Times are since the cluster's start ([`crate::KubeApi::elapsed`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct When {
    from: Duration,
    until: Duration,
    skip: usize,
    times: usize,
}

impl When {
    /// Every time.
    pub const ALWAYS: Self = Self {
        from: Duration::ZERO,
        until: Duration::MAX,
        skip: 0,
        times: usize::MAX,
    };

    /// The next `times` matching requests.
    pub const fn times(times: usize) -> Self {
        Self {
            times,
            ..Self::ALWAYS
        }
    }

    /// The next matching request.
    pub const fn once() -> Self {
        Self::times(1)
    }

    /// From one instant until before another.
    pub const fn between(from: Duration, until: Duration) -> Self {
        Self {
            from,
            until,
            ..Self::ALWAYS
        }
    }

    /// Not before this instant.
    #[must_use]
    pub const fn from(self, from: Duration) -> Self {
        Self { from, ..self }
    }

    /// Only before this instant.
    #[must_use]
    pub const fn until(self, until: Duration) -> Self {
        Self { until, ..self }
    }

    /// Lets the first `skip` matching requests through.
    #[must_use]
    pub const fn skip(self, skip: usize) -> Self {
        Self { skip, ..self }
    }
}

/// Names a fault that was set, to take it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultId(usize);

/// All faults that are set.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    next: usize,
    rules: Vec<(FaultId, Matcher, Fault, When)>,
}

impl Faults {
    pub(crate) fn add(&mut self, matcher: Matcher, fault: Fault, when: When) -> FaultId {
        let id = FaultId(self.next);
        self.next += 1;
        self.rules.push((id, matcher, fault, when));
        id
    }

    pub(crate) fn remove(&mut self, id: FaultId) {
        self.rules.retain(|rule| rule.0 != id);
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    pub(crate) fn remove_hangs(&mut self) {
        self.rules.retain(|rule| {
            !matches!(&rule.2, Fault::Hang)
                && !matches!(&rule.2, Fault::AfterWrite(inner) if matches!(**inner, Fault::Hang))
        });
    }

    /// The fault of the first rule that wants this request; rules count what they let through and what they hit.
    pub(crate) fn take(&mut self, request: &Recorded) -> Option<Fault> {
        for (_, matcher, fault, when) in &mut self.rules {
            if when.times == 0
                || request.at < when.from
                || request.at >= when.until
                || !matcher.matches(request)
            {
                continue;
            }
            if when.skip > 0 {
                when.skip -= 1;
                continue;
            }
            if when.times != usize::MAX {
                when.times -= 1;
            }
            return Some(fault.clone());
        }
        None
    }
}
