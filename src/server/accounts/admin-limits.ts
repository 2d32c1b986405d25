/** Bounds of the operator's commands; those with a range are flags. */
interface AdminLimits {
  /** A code for a lost password is good for so long. */
  readonly resetCodeMinutes: Range
  /** An invitation is good for so long. */
  readonly inviteDays: Range
  /** So many rows of a list at once. */
  readonly listRows: Range
  /** The name of a deleted account cannot be taken for so long. */
  readonly nameReservedMs: number
  /** A restore waits so long for what has the database open. */
  readonly restoreWaitMs: number
}

export interface Range {
  readonly least: number
  readonly usual: number
  readonly most: number
}

const day = 24 * 60 * 60 * 1000

export const adminLimits: AdminLimits = Object.freeze({
  resetCodeMinutes: { least: 10, usual: 60, most: 1440 },
  inviteDays: { least: 1, usual: 7, most: 365 },
  listRows: { least: 1, usual: 1000, most: 100_000 },
  nameReservedMs: 90 * day,
  restoreWaitMs: 1000,
})
