// Package server is a local OpenAI-compatible server: chat completions as JSON and as a stream, tools, images, raw
// completions, and what a program asks around them. It keeps one model, generates one answer at a time behind a bounded
// queue, and holds several conversations whose prompts are reused.
//
// It refuses to know a backend, a picture format or a chat template: package openai reads requests and shapes answers,
// package core computes. It never fetches or opens what a request names.
//
// # Who may talk to it
//
// It listens on loopback. Another address needs an API key. Every request's Host must be an address or a listed name,
// and a page's Origin must be the server's own or listed, so that web pages cannot reach it by tricks with DNS.
//
// Start reading at New, then chat.go and answer.go. errors.go alone decides on statuses, security.go on who gets in.
package server
