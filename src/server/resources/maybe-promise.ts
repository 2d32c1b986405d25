import type { Timer } from '../../lib/util/time.ts'

/** Synchronous where it can be: only producers that need time cost the reader a turn. */
export type MaybePromise<Value> = Value | Promise<Value>

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

export function chain<Value, Next>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value)
}

export function all<Value>(values: readonly MaybePromise<Value>[]): MaybePromise<Value[]> {
  const ready: Value[] = []
  for (const value of values) {
    if (value instanceof Promise) return Promise.all(values)
    ready.push(value)
  }
  return ready
}

/** The call's outcome, or what `failed` makes of its error, thrown now or later. */
export function recovered<Value>(
  call: () => MaybePromise<Value>,
  failed: (error: unknown) => MaybePromise<Value>,
): MaybePromise<Value> {
  try {
    const value = call()
    return value instanceof Promise ? value.catch(failed) : value
  } catch (error) {
    return failed(error)
  }
}

/** The promise's outcome, or what `late` returns or throws once `timeoutMs` have passed. */
export function within<Value>(
  promise: PromiseLike<Value>,
  timeoutMs: number,
  timer: Timer,
  late: () => Value,
): Promise<Value> {
  const { promise: outcome, resolve, reject } = Promise.withResolvers<Value>()
  const cancel = timer.after(timeoutMs, () => {
    try {
      resolve(late())
    } catch (error) {
      reject(error)
    }
  })
  promise.then(
    value => {
      cancel()
      resolve(value)
    },
    error => {
      cancel()
      reject(error)
    },
  )
  return outcome
}
