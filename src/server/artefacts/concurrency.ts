/** A counting semaphore, first come, first served. */
export class Slots {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Resolves once a slot is taken; `release` must follow. */
  async acquire(): Promise<void> {
    if (!this.tryAcquire()) await new Promise<void>(resolve => this.#waiting.push(resolve))
  }

  /** Takes a slot if one is free. */
  tryAcquire(): boolean {
    if (this.#free === 0) return false
    this.#free--
    return true
  }

  /** Resolves with false when no slot became free within `maxMs`. */
  async acquireWithin(maxMs: number): Promise<boolean> {
    if (this.tryAcquire()) return true
    return new Promise(resolve => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(taken), 1)
        resolve(false)
      }, maxMs)
      const taken = () => {
        clearTimeout(timer)
        resolve(true)
      }
      this.#waiting.push(taken)
    })
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
