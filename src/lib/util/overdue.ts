/** A server that needs longer for an answer has usually stopped. */
export const overdueMs = 5000

/** What a command says then, and waits on. */
export function overdueText(host: string, afterMs = overdueMs): string {
  return `still waiting for ${host}, which has not answered for ${afterMs / 1000} s`
}
