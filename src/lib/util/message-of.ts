/** What was thrown, as text: anything may be thrown, though nearly always it is an `Error`. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
