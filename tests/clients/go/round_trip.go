// One round trip with the client that oapi-codegen makes: report an event, read the run back.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"

	"muster.example/clients/muster"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	url, token, slug := os.Args[1], os.Args[2], os.Args[3]
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	client, err := muster.NewClientWithResponses(url, muster.WithRequestEditorFn(authorize))
	must(err)
	run := uuid.MustParse("7d1c0f8e-2b5a-4e63-9c1d-5f0a8b7e6d42")
	sent, err := client.ReportEventWithResponse(context.Background(), muster.TelemetryEvent{
		AgentName: "go-client",
		ClientId:  slug,
		RunId:     run,
		Event:     muster.TelemetryEventEventStarted,
		Timestamp: time.Now(),
	})
	must(err)
	if sent.JSON202 == nil || sent.JSON202.Status != "accepted" {
		panic(string(sent.Body))
	}
	read, err := client.GetRunEventsWithResponse(context.Background(), slug, run, nil)
	must(err)
	if read.JSON200 == nil || read.JSON200.Run.Status != "in_progress" || len(read.JSON200.Events) != 1 {
		panic(string(read.Body))
	}
	limit := int64(0)
	refused, err := client.ListRunsWithResponse(context.Background(), slug, &muster.ListRunsParams{Limit: &limit})
	must(err)
	if refused.JSON422 == nil || len(*refused.JSON422.Detail) != 1 {
		panic(string(refused.Body))
	}
	fmt.Println("ok")
}
