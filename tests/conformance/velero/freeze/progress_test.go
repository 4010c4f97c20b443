package freeze

import (
	"fmt"
	"time"

	"velero-plugin-csi-fastpoll.test/velero/freeze/report"
)

// turn is one backup to be made.
type turn struct {
	round    int
	pair     report.Pair
	strategy strategy
}

// turns lets the strategies take turns at each pair, in an order that rotates from pair to pair and round to round,
// so that noise hits all alike and none is always the first.
func (c choices) turns() []turn {
	var turns []turn
	for round := range c.rounds {
		for number, pair := range c.pairs {
			for i := range c.strategies {
				next := c.strategies[(i+number+round)%len(c.strategies)]
				if round < c.longRounds || next.expected(latencies(pair)) <= long {
					turns = append(turns, turn{round + 1, pair, next})
				}
			}
		}
	}
	return turns
}

// overhead is what a backup takes beside its freeze, until the first ones have shown it.
const overhead = 3 * time.Second

// progress estimates the rest by what the finished backups took beyond their expected freeze.
type progress struct {
	turns    []turn
	finished int
	begin    time.Time
	expected time.Duration
}

func expected(turns []turn) (sum time.Duration) {
	for _, turn := range turns {
		sum += turn.strategy.expected(latencies(turn.pair))
	}
	return sum
}

func newProgress(turns []turn) *progress { return &progress{turns: turns, begin: time.Now()} }

func (p *progress) done(sample report.Sample) {
	turn := p.turns[p.finished]
	p.expected += turn.strategy.expected(latencies(turn.pair))
	p.finished++
	fmt.Printf("[%3d/%d] round %d  %-5s %3d volumes  %-14s frozen %6.2f s  backup %6.2f s  about %s left\n", p.finished, len(p.turns),
		sample.Round, sample.Latency, sample.Volumes, sample.Strategy, sample.WindowSeconds, sample.BackupSeconds, p.left().Round(time.Second))
}

// left: how long the rest takes.
func (p *progress) left() time.Duration {
	each := overhead
	if p.finished > 0 {
		each = (time.Since(p.begin) - p.expected) / time.Duration(p.finished)
	}
	rest := p.turns[p.finished:]
	return expected(rest) + time.Duration(len(rest))*each
}
