import type { z } from 'zod'

/** What a schema refused first, on one line: `level: Invalid option: expected one of …`. */
export function firstIssue({ issues }: z.ZodError): string {
  const [{ path, message }] = issues as [z.core.$ZodIssue]
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
}
