/** The revisions of the session eras, newest first. Dates, so they compare as strings. */
export const sessionRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

export type SessionRevision = (typeof sessionRevisions)[number]

const newest: SessionRevision = sessionRevisions[0]

export function isSessionRevision(text: string): text is SessionRevision {
  return (sessionRevisions as readonly string[]).includes(text)
}

/** "Lifecycle", version negotiation: echo what is supported, else offer the newest. Never an error. */
export function negotiate(requested: string): SessionRevision {
  return isSessionRevision(requested) ? requested : newest
}

/** Only 2025-03-26 knows batches; 2025-06-18 removed them. */
export function allowsBatches(revision: SessionRevision): boolean {
  return revision === '2025-03-26'
}
