/** Lets `places` tasks run at a time; the others wait their turn, so that memory stays bounded. */
export function createGate(places: number) {
  const waiting: (() => void)[] = []
  let free = places
  return async <Value>(task: () => Promise<Value>): Promise<Value> => {
    if (free > 0) free--
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
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
