package cases

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// isCreate is true for the creation of a VolumeSnapshot.
func isCreate(request *http.Request) bool {
	return request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/volumesnapshots")
}

// isLook is true for a read of a VolumeSnapshot or of its content by name.
func isLook(request *http.Request) bool {
	return request.Method == http.MethodGet && (strings.Contains(request.URL.Path, "/volumesnapshots/") || strings.Contains(request.URL.Path, "/volumesnapshotcontents/"))
}

// The API server has made the VolumeSnapshot, its answer is lost on the way. It is settled by our own labels, never
// simply repeated: exactly one VolumeSnapshot, and the volume is backed up by it.
func TestCreateWhoseAnswerIsLostIsSettled(t *testing.T) {
	t.Parallel()
	var lost atomic.Int32
	s := set(t, bench.Launch{Env: early(true), Between: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			if isCreate(request) && lost.Add(1) == 1 {
				next.ServeHTTP(httptest.NewRecorder(), request)
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(writer, request)
		})
	}})
	claim := s.volume(bench.Volume{Name: "data"})
	backup := bench.NewBackup("lost-answer")
	s.hasSnapshot(s.execute(claim, backup), claim, backup)
	if lost.Load() == 0 {
		t.Error("no answer was lost")
	}
	s.quiet(1, 0)
}

// A look that fails in passing is only a look that has seen nothing: each of these for the first second.
func TestTransientAnswersDuringTheWaitAreSurvived(t *testing.T) {
	status := func(code int, body string) func(http.ResponseWriter) {
		return func(writer http.ResponseWriter) {
			writer.Header().Set("Content-Type", "application/json")
			writer.WriteHeader(code)
			_, _ = writer.Write([]byte(body))
		}
	}
	failure := func(code int, reason string) func(http.ResponseWriter) {
		return status(code, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"`+reason+`","code":`+strconv.Itoa(code)+`}`)
	}
	for name, answer := range map[string]func(http.ResponseWriter){
		"429":        failure(429, "TooManyRequests"),
		"500":        failure(500, "InternalError"),
		"500-empty":  status(500, "{}"),
		"502":        status(502, "bad gateway"),
		"503":        failure(503, "ServiceUnavailable"),
		"504":        failure(504, "Timeout"),
		"plain-404":  status(404, "404 page not found"),
		"reset":      func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"no-answer":  func(http.ResponseWriter) { time.Sleep(3 * time.Second); panic(http.ErrAbortHandler) },
		"not-a-json": status(200, "<html>proxy</html>"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var first atomic.Int64
			var spoiled atomic.Int32
			s := set(t, bench.Launch{Env: early(true), Between: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
					if isLook(request) {
						first.CompareAndSwap(0, time.Now().UnixNano())
						if time.Since(time.Unix(0, first.Load())) < 1200*time.Millisecond {
							spoiled.Add(1)
							answer(writer)
							return
						}
					}
					next.ServeHTTP(writer, request)
				})
			}})
			claim := s.volume(bench.Volume{Name: "data"})
			backup := bench.NewBackup("transient")
			s.hasSnapshot(s.execute(claim, backup), claim, backup)
			if spoiled.Load() == 0 {
				t.Error("no look was spoiled")
			}
			s.quiet(1, 0)
		})
	}
}
