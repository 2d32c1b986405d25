/** A controller that is also aborted with `signal`, for the same reason. */
export function controllerWith(signal: AbortSignal | undefined): AbortController {
  const controller = new AbortController()
  onAbort(signal, () => controller.abort(signal?.reason))
  return controller
}

/** Runs `listener` when the signal is aborted, at once if it is already. Returns the cancel. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal?.aborted === true) listener()
  else signal?.addEventListener('abort', listener, { once: true })
  return () => signal?.removeEventListener('abort', listener)
}
