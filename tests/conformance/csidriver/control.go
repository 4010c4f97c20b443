package main

import (
	"encoding/json"
	"net/http"
)

// controlHandler is the HTTP side:
//
//	PUT /behaviour?prefix=P   body: a behaviour; for the volumes whose handle begins with P
//	GET /snapshots?prefix=P   the snapshots of those volumes, live and deleted, and the CreateSnapshot calls
func controlHandler(storage *storage, behaviours *behaviours) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /behaviour", func(writer http.ResponseWriter, request *http.Request) {
		var next behaviour
		decoder := json.NewDecoder(request.Body)
		// A misspelt setting would otherwise be a driver that silently behaves well.
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&next); err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		behaviours.set(request.URL.Query().Get("prefix"), next)
		writer.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /snapshots", func(writer http.ResponseWriter, request *http.Request) {
		writer.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(writer).Encode(storage.report(request.URL.Query().Get("prefix")))
	})
	return mux
}
