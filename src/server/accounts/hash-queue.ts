import { AccountsProblem } from './problems.ts'

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
  readonly refuse: (problem: AccountsProblem) => void
}

/** Waiters of one address by name; the name that waits longest comes first. */
type Names = Map<string, Waiter[]>

/** About six seconds of work for one core: clients give up after 30 s. */
export const maxWaitingHashes = 256
const retryAfter = 1
/** Names whose last hash is remembered; a few megabytes. */
const maxRememberedNames = 16_384

/**
 * Bounds how many hashes run at once, since each takes a core and 19 MiB, and how many wait.
 * Addresses take turns, and so do the names of one address. A full queue drops the newest waiter
 * of the name that has the most, of the address that has the most, for one that has fewer.
 *
 * Trusted names of one address do not take turns: the name whose last hash is the longest ago goes
 * first, and displaces the others. Otherwise the many accounts of one user would share the queue
 * with the one account of another. For made-up names this would be no bound: each is new.
 */
export function createHashQueue(limits: { concurrency: number; maxWaiting: number }): HashQueue {
  const addresses = new Map<string, Names>()
  /** Trusted lanes and names, by the number of their last hash; the oldest comes first. */
  const lastHashes = new Map<string, number>()
  let hashes = 0
  let waiting = 0
  let running = 0

  const lastHash = (key: string, name: string) => lastHashes.get(`${key} ${name}`) ?? 0

  function remember(key: string, name: string): void {
    const id = `${key} ${name}`
    lastHashes.delete(id)
    lastHashes.set(id, ++hashes)
    if (lastHashes.size > maxRememberedNames) takeFirst(lastHashes)
  }

  function enter(key: string, name: string, waiter: Waiter): void {
    if (waiting >= limits.maxWaiting && !makeSpace(key, name)) throw overloaded()
    const names = addresses.get(key) ?? new Map<string, Waiter[]>()
    const queue = names.get(name) ?? []
    queue.push(waiter)
    names.set(name, queue)
    addresses.set(key, names)
    waiting++
  }

  /** False when no address and no name of this one has two waiters more than the newcomer. */
  function makeSpace(key: string, name: string): boolean {
    const own = addresses.get(key)
    const largest = longest(addresses.values(), countWaiters)
    const isOther = countWaiters(largest) > countWaiters(own) + 1
    const from = isOther ? largest : own
    const [victim, queue] = longest(from ?? [], ([, { length }]) => length) ?? []
    if (from === undefined || victim === undefined || queue === undefined) return false
    if (!isOther && queue.length <= (own?.get(name)?.length ?? 0) + 1) {
      return displaceRecent(key, name)
    }
    drop(from, victim, queue)
    return true
  }

  /** Makes room in a trusted lane at the name that hashed last, if that was after the newcomer. */
  function displaceRecent(key: string, name: string): boolean {
    const names = addresses.get(key)
    const [recent, queue] = longest(names ?? [], ([other]) => lastHash(key, other)) ?? []
    if (names === undefined || recent === undefined || queue === undefined) return false
    if (lastHash(key, recent) <= lastHash(key, name)) return false
    drop(names, recent, queue)
    return true
  }

  function drop(from: Names, name: string, queue: Waiter[]): void {
    queue.pop()?.refuse(overloaded())
    if (queue.length === 0) from.delete(name)
    waiting--
  }

  /** In a lane that is not trusted no hash is remembered: the first name. */
  function takeName(key: string, names: Names): [string, Waiter[]] | undefined {
    let next: [string, Waiter[]] | undefined
    for (const entry of names) {
      if (next === undefined || lastHash(key, entry[0]) < lastHash(key, next[0])) next = entry
    }
    if (next !== undefined) names.delete(next[0])
    return next
  }

  function takeNext(): Waiter | undefined {
    const address = takeFirst(addresses)
    const name = address && takeName(...address)
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
      const key = trusted ? `trusted ${address}` : address
      if (running < limits.concurrency) {
        running++
      } else {
        await new Promise<void>((resolve, reject) => {
          enter(key, name, { start: resolve, refuse: reject })
        })
      }
      // Names behind it in the queue are compared with this hash from now on.
      if (trusted) remember(key, name)
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

/** The last one when several are equally long. */
function longest<Item>(items: Iterable<Item>, lengthOf: (item: Item) => number): Item | undefined {
  let found: Item | undefined
  for (const item of items) {
    if (found === undefined || lengthOf(item) >= lengthOf(found)) found = item
  }
  return found
}

function overloaded(): AccountsProblem {
  const message = 'too many logins at the same moment; try again'
  return new AccountsProblem('overloaded', message, { retryAfter })
}

/** One core stays free for requests that hash nothing. */
export function hashConcurrency(configured: number, cores: number): number {
  return configured > 0 ? configured : Math.max(1, cores - 1)
}
