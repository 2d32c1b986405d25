/** Whoever waits for contents, where it can be known that nobody does any more. */
export interface Reader {
  /** Calls `left` once, at once if it has left already. Returns how to call it off. */
  onLeave(left: () => void): () => void
}
