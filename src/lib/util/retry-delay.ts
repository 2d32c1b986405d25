const firstMs = 250
const mostMs = 10_000
const jitter = 0.2

/**
 * The pause before an attempt to connect, `attempt` counted from 0: 0.25 s, twice as long each
 * time up to 10 s, ±20 % so that several clients do not come back at once. `random` is in 0…1.
 */
export function retryDelay(attempt: number, random: () => number): number {
  const base = Math.min(firstMs * 2 ** attempt, mostMs)
  return Math.round(base * (1 - jitter + 2 * jitter * random()))
}
