import { RegistryProblem } from './problems.ts'

/** Whose hash it is. Turns are shared among addresses, and within an address among names. */
interface Turn {
  readonly address: string
  readonly name: string
  /** A session, a code or an earlier login vouches for it: waits apart from its address. */
  readonly trusted: boolean
}

export interface HashQueue {
  /** Runs the work when it is its turn. Rejects with `overloaded` when the queue is full. */
  run<Value>(turn: Turn, work: () => Promise<Value>): Promise<Value>
}

interface Waiter {
  readonly start: () => void
  readonly refuse: (problem: RegistryProblem) => void
}

/** Waiters of one address by name; the name whose turn is next comes first. */
type Names = Map<string, Waiter[]>

/** About six seconds of work for one core: clients give up after 30 s. */
export const maxWaitingHashes = 256
const retryAfter = 1

/**
 * Bounds how many hashes run at once, since each takes a core and 19 MiB, and how many wait.
 * Addresses take turns, and so do the names of one address. A full queue drops the newest waiter
 * of the name that has the most, of the address that has the most, for one that has fewer.
 */
export function createHashQueue(limits: {
  readonly concurrency: number
  readonly maxWaiting: number
}): HashQueue {
  const addresses = new Map<string, Names>()
  let waiting = 0
  let running = 0

  function enter(key: string, name: string, waiter: Waiter): void {
    if (waiting >= limits.maxWaiting && !makeRoom(key, name)) throw overloaded()
    const names = addresses.get(key) ?? new Map<string, Waiter[]>()
    const queue = names.get(name) ?? []
    queue.push(waiter)
    names.set(name, queue)
    addresses.set(key, names)
    waiting++
  }

  /** False when no address and no name of this one has two waiters more than the newcomer. */
  function makeRoom(key: string, name: string): boolean {
    const own = addresses.get(key)
    const largest = longest(addresses.values(), countWaiters)
    const isOther = countWaiters(largest) > countWaiters(own) + 1
    const from = isOther ? largest : own
    const [victim, queue] = longest(from ?? [], ([, { length }]) => length) ?? []
    if (from === undefined || victim === undefined || queue === undefined) return false
    if (!isOther && queue.length <= (own?.get(name)?.length ?? 0) + 1) return false
    queue.pop()?.refuse(overloaded())
    if (queue.length === 0) from.delete(victim)
    waiting--
    return true
  }

  function takeNext(): Waiter | undefined {
    const address = takeFirst(addresses)
    const name = address && takeFirst(address[1])
    if (address === undefined || name === undefined) return undefined
    const [waiter] = name[1].splice(0, 1)
    // To the end, as long as more wait.
    if (name[1].length > 0) address[1].set(...name)
    if (address[1].size > 0) addresses.set(...address)
    waiting--
    return waiter
  }

  function leave(): void {
    const next = takeNext()
    // The slot is handed on, so a newcomer cannot take it.
    if (next === undefined) running--
    else next.start()
  }

  return {
    async run({ address, name, trusted }, work) {
      if (running < limits.concurrency) {
        running++
      } else {
        await new Promise<void>((resolve, reject) => {
          const key = trusted ? `trusted ${address}` : address
          enter(key, name, { start: resolve, refuse: reject })
        })
      }
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}

function takeFirst<Value>(map: Map<string, Value>): [string, Value] | undefined {
  const first = map.entries().next()
  if (first.done) return undefined
  map.delete(first.value[0])
  return first.value
}

function countWaiters(names: Names | undefined): number {
  return names?.values().reduce((sum, queue) => sum + queue.length, 0) ?? 0
}

/** Of several equally long ones the last. */
function longest<Item>(items: Iterable<Item>, lengthOf: (item: Item) => number): Item | undefined {
  let found: Item | undefined
  for (const item of items) {
    if (found === undefined || lengthOf(item) >= lengthOf(found)) found = item
  }
  return found
}

function overloaded(): RegistryProblem {
  const message = 'too many logins at the same moment; try again'
  return new RegistryProblem('overloaded', message, { retryAfter })
}

/** One core stays free for requests that hash nothing. */
export function hashConcurrency(configured: number, cores: number): number {
  return configured > 0 ? configured : Math.max(1, cores - 1)
}
