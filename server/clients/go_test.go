package clients_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

func goClient(url string) openai.Client {
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
}

func goQuestion(q string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "demo", Temperature: openai.Float(0),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(q)},
	}
}

var goWeather = openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
	Name: "get_weather", Description: openai.String("Get the current weather for a city."),
	Parameters: shared.FunctionParameters{
		"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string", "description": "City name"}},
	},
})

func TestGoClientAnswers(t *testing.T) {
	client := goClient(serveProgram(t))
	a, err := client.Chat.Completions.New(t.Context(), goQuestion("What is the capital of Peru?"))
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Choices[0].Message.Content; got != "The capital of Peru is Lima." || a.Usage.TotalTokens != 27 {
		t.Errorf("%q, %+v", got, a.Usage)
	}
	pages, err := client.Models.List(t.Context())
	if err != nil || len(pages.Data) != 1 || pages.Data[0].ID != "demo" {
		t.Errorf("models: %+v, %v", pages, err)
	}
}

func TestGoClientStreams(t *testing.T) {
	client := goClient(serveProgram(t))
	q := goQuestion("What is the capital of Peru?")
	q.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), q)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		all.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil || all.Choices[0].Message.Content != "The capital of Peru is Lima." || all.Usage.TotalTokens != 27 {
		t.Errorf("%+v, %v", all.ChatCompletion, err)
	}
}

func TestGoClientToolLoop(t *testing.T) {
	client := goClient(serveProgram(t))
	q := goQuestion("What is the weather in Lisbon?")
	q.Tools = []openai.ChatCompletionToolUnionParam{goWeather}
	stream := client.Chat.Completions.NewStreaming(t.Context(), q)
	var all openai.ChatCompletionAccumulator
	finished := 0
	for stream.Next() {
		all.AddChunk(stream.Current())
		if call, ok := all.JustFinishedToolCall(); ok {
			finished++
			if call.Name != "get_weather" || call.Arguments != `{"city":"Lisbon"}` {
				t.Errorf("call %+v", call)
			}
		}
	}
	if stream.Err() != nil || finished != 1 {
		t.Fatalf("%d calls, %v", finished, stream.Err())
	}
	message := all.Choices[0].Message
	q.Messages = append(q.Messages, message.ToParam(), openai.ToolMessage(`{"temp_c": 21, "condition": "sunny"}`, message.ToolCalls[0].ID))
	a, err := client.Chat.Completions.New(t.Context(), q)
	if err != nil || a.Choices[0].Message.Content != "The weather in Lisbon is sunny at 21 degrees." {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestGoClientPicture(t *testing.T) {
	client := goClient(serveProgram(t))
	p := pictureCase(t)
	q := goQuestion("")
	q.Messages = []openai.ChatCompletionMessageParamUnion{openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: p.url, Detail: "low"}),
		openai.TextContentPart(p.question),
	})}
	a, err := client.Chat.Completions.New(t.Context(), q)
	if err != nil || a.Choices[0].Message.Content != p.answer {
		t.Errorf("%+v, %v, want %q", a, err, p.answer)
	}
}

func TestGoClientErrors(t *testing.T) {
	client := goClient(serveProgram(t))
	for name, c := range map[string]struct {
		change func(*openai.ChatCompletionNewParams)
		status int
		code   string
	}{
		"two answers":   {func(q *openai.ChatCompletionNewParams) { q.N = openai.Int(2) }, 400, "unsupported_value"},
		"another model": {func(q *openai.ChatCompletionNewParams) { q.Model = "gpt-4o" }, 404, "model_not_found"},
		"a long message": {func(q *openai.ChatCompletionNewParams) {
			q.Messages = goQuestion(strings.Repeat("word ", 5000)).Messages
		}, 400, "context_length_exceeded"},
	} {
		q := goQuestion("Hello")
		c.change(&q)
		_, err := client.Chat.Completions.New(t.Context(), q)
		var failed *openai.Error
		if !errors.As(err, &failed) || failed.StatusCode != c.status || failed.Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
		stream := client.Chat.Completions.NewStreaming(t.Context(), q)
		if stream.Next() || !errors.As(stream.Err(), &failed) || failed.Code != c.code {
			t.Errorf("%s, streamed: %v", name, stream.Err())
		}
	}
}

func TestGoClientCancels(t *testing.T) {
	url := serveProgram(t)
	client := goClient(url)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	q := goQuestion("Count from 1 to 9.")
	q.LogitBias = map[string]int64{"1": -100, "106": -100}
	stream := client.Chat.Completions.NewStreaming(ctx, q)
	for range 5 {
		if !stream.Next() {
			t.Fatal(stream.Err())
		}
	}
	cancel()
	waitIdle(t, url)
	a, err := client.Chat.Completions.New(t.Context(), goQuestion("Hello"))
	if err != nil || a.Choices[0].Message.Content != "Hello! How can I help you?" {
		t.Errorf("%+v, %v", a, err)
	}
}
