import { wrapWords } from './format.ts'

/** Can clients see the window of the application, and what stands in the way? */
export interface CaptureFacts {
  /** The first way to a picture that can be tried now; null: there is none. */
  readonly way: string | null
  /** No application is there yet. */
  readonly waits: boolean
  /** Why the window cannot be seen, now or when an application is there; null: it can. */
  readonly trouble: { readonly message: string; readonly hint: string } | null
}

const columns = 80

/** For the banner: the first line follows a heading of `indent` columns. */
export function captureLines(facts: CaptureFacts | null, indent: number): string[] {
  return wrapWords(sentence(facts), columns - indent)
}

function sentence(facts: CaptureFacts | null): string {
  if (facts === null) return 'clients cannot see it: window capture is off'
  const { way, waits, trouble } = facts
  if (way !== null) return `clients can see it (${way}); --capture off hides it`
  if (trouble === null) return 'waits for an application; then clients can see it'
  const problem = `${trouble.message}; ${trouble.hint}`
  return waits ? `waits for an application, which must draw it itself: ${problem}` : problem
}
