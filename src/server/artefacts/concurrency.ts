/** A counting semaphore, first come, first served. */
export class Slots {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Resolves once a slot is taken; `release` must follow. */
  async acquire(): Promise<void> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
  }

  release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}

/** Runs up to `count` tasks at a time; further ones wait, so that memory stays bounded. */
export function createGate(count: number) {
  const slots = new Slots(count)
  return async <Value>(task: () => Promise<Value>): Promise<Value> => {
    await slots.acquire()
    try {
      return await task()
    } finally {
      slots.release()
    }
  }
}

/** Runs a task once for all who ask under the same key while it runs. */
export function createSharing<Value>() {
  const running = new Map<string, Promise<Value>>()
  return (key: string, task: () => Promise<Value>): Promise<Value> => {
    const known = running.get(key)
    if (known !== undefined) return known
    const started = task().finally(() => running.delete(key))
    running.set(key, started)
    return started
  }
}
