// Package install turns byte ranges of a checkpoint into a complete, verified .gturbo directory, and keeps such a
// directory whole: it resumes an interrupted install and repairs damaged ranges of a finished one.
//
// Four parts that know little of each other:
//
//   - a [Source] hands out bytes of named files: [DirSource] from a directory, [HubSource] over HTTP;
//   - a [Snapshot] is what the small files of a source say: tensors, configuration, provenance;
//   - a [Plan] lists which source bytes go where; it is pure data, computed from a snapshot;
//   - the engine executes a plan: it reserves files, copies ranges, makes them durable before it counts them,
//     hashes, and renames the finished directory into place. It serves every [Artifact] alike.
//
// The package refuses to know how a model runs, what a terminal looks like, and any environment variable. It prints
// nothing; progress leaves through a callback. Files are touched only through [FS], so that tests can count, fail,
// log and lose every call.
//
// Start reading at install.go (the sequence of an install), then plan.go and engine.go.
package install
