import { wrapWords } from './format.ts'

/** Whether clients can see the window of the application, and the reason when they cannot. */
export interface CaptureFacts {
  /** The first capture method that is available now, or null. */
  readonly way: string | null
  /** No application is connected yet. */
  readonly waits: boolean
  /** Why capture fails now, or will once an application is connected; null when it works. */
  readonly trouble: { readonly message: string; readonly hint: string } | null
}

const columns = 80

/** Lines for the banner. The first one follows a heading of `indent` columns. */
export function captureLines(facts: CaptureFacts | null, indent: number): string[] {
  return wrapWords(sentence(facts), columns - indent)
}

function sentence(facts: CaptureFacts | null): string {
  if (facts === null) return 'clients cannot see it: window capture is off'
  const { way, waits, trouble } = facts
  if (way !== null) return `clients can see it (${way}); --capture off hides it`
  if (trouble === null) return 'waits for an application; then clients can see it'
  const problem = `${trouble.message}; ${trouble.hint}`
  return waits ? `waits for an application that sends pictures itself: ${problem}` : problem
}
