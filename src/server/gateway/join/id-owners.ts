/** Ids of one account that are remembered; of more, the oldest goes. */
const maxIdsPerAccount = 1000

/** An instance id belongs to the account that first used it, for as long as this gateway runs. */
export class IdOwners {
  readonly #owners = new Map<string, string>()
  /** Oldest first. */
  readonly #ids = new Map<string, Set<string>>()

  /** False: another account has the id. */
  claim(id: string, accountId: string): boolean {
    const owner = this.#owners.get(id)
    if (owner !== undefined) return owner === accountId
    const ids = this.#ids.get(accountId) ?? new Set()
    this.#ids.set(accountId, ids.add(id))
    this.#owners.set(id, accountId)
    const [oldest] = ids
    // An account that uses many ids loses its own, and no other account's.
    if (ids.size > maxIdsPerAccount && oldest !== undefined) {
      ids.delete(oldest)
      this.#owners.delete(oldest)
    }
    return true
  }
}
