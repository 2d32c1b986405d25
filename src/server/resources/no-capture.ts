import type { BuiltIn } from './built-in.ts'
import { ResourceNotEnabled, ResourceNotFound } from './errors.ts'

const nothing: readonly never[] = Object.freeze([])

/** `capture://` of a server without a window to capture: known, not enabled, not listed. */
export const noCapture: BuiltIn = Object.freeze<BuiltIn>({
  list: () => nothing,
  templates: () => nothing,
  complete: () => nothing,
  read({ path, text }) {
    if (path !== 'current_window') throw new ResourceNotFound(text)
    throw new ResourceNotEnabled(text, 'this server has no window to capture')
  },
})
