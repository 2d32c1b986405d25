import type { CaptureBackend } from './backend.ts'

/** Those that can draw the view of the scene alone, made to do that. Each stays one at a time. */
export function viewportBackends(backends: readonly CaptureBackend[]): readonly CaptureBackend[] {
  return backends.flatMap(backend => {
    const { name, viewport } = backend
    if (viewport?.offered() !== true) return []
    return {
      name,
      probe: target => backend.probe(target),
      capture: (_target, form) => viewport.capture(form),
    }
  })
}
