package parity

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// matcher picks requests.
type matcher func(request *http.Request) bool

// asks is a request for one resource: a read of one object, of a list (an empty verb is any), or a write.
func asks(method, resource string, named bool) matcher {
	return func(request *http.Request) bool {
		_, rest, found := strings.Cut(request.URL.Path, "/"+resource)
		return found && request.Method == method && strings.HasPrefix(rest, "/") == named
	}
}

var (
	createsSnapshot = asks(http.MethodPost, "volumesnapshots", false)
	readsSnapshot   = asks(http.MethodGet, "volumesnapshots", true)
	deletesSnapshot = asks(http.MethodDelete, "volumesnapshots", true)
	readsContent    = asks(http.MethodGet, "volumesnapshotcontents", true)
	listsClasses    = asks(http.MethodGet, "volumesnapshotclasses", false)
	readsVolume     = asks(http.MethodGet, "persistentvolumes", true)
	listsPods       = asks(http.MethodGet, "pods", false)
	readsConfigMap  = asks(http.MethodGet, "configmaps", true)
)

// between is a handler of the input's own between an action and the API server.
type between func(s *side, next http.Handler) http.Handler

// answered answers the matching requests from the nth on, as many as said, in the API server's place.
func answered(which matcher, nth, many int, answer func(writer http.ResponseWriter)) between {
	return func(_ *side, next http.Handler) http.Handler {
		var mu sync.Mutex
		seen := 0
		return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			if which(request) {
				mu.Lock()
				seen++
				ours := seen >= nth && seen < nth+many
				mu.Unlock()
				if ours {
					answer(writer)
					return
				}
			}
			next.ServeHTTP(writer, request)
		})
	}
}

const always = 1 << 30

// status answers with a Status as the API server writes it.
func status(code int, reason, message string) func(http.ResponseWriter) {
	return func(writer http.ResponseWriter) {
		text, _ := json.Marshal(map[string]any{
			"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
		})
		writer.Header().Set("Content-Type", "application/json")
		writer.WriteHeader(code)
		_, _ = writer.Write(text)
	}
}

// reset drops the connection.
func reset(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// lostAnswer lets the API server do what is asked once, and drops the connection instead of its answer.
func lostAnswer(which matcher) between {
	return func(_ *side, next http.Handler) http.Handler {
		var once sync.Once
		return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			lost := false
			if which(request) {
				once.Do(func() { lost = true })
			}
			if lost {
				next.ServeHTTP(httptest.NewRecorder(), request)
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(writer, request)
		})
	}
}

// first does something before the first matching request is passed on.
func first(which matcher, do func(s *side) error) between {
	return func(s *side, next http.Handler) http.Handler {
		var once sync.Once
		return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			if which(request) {
				once.Do(func() {
					if err := do(s); err != nil {
						s.Errorf("before %s %s: %v", request.Method, request.URL.Path, err)
					}
				})
			}
			next.ServeHTTP(writer, request)
		})
	}
}
