import type { CaptureMode } from '../../lib/capture-mode.ts'
import type { AppCapture } from './app-capture.ts'
import type { BackendName, CaptureBackend } from './backend.ts'
import { backendOrder } from './plan.ts'

/** How each is made; modules are loaded only for a mode that needs them. */
const makers: Readonly<Partial<Record<BackendName, (app: AppCapture) => Promise<CaptureBackend>>>> =
  {
    host: async app => (await import('./host-backend.ts')).createHostBackend(app),
  }

/** The backends that the mode may use, best first. */
export async function openBackends(mode: CaptureMode, app: AppCapture): Promise<CaptureBackend[]> {
  const opened = await Promise.all(backendOrder(mode).map(name => makers[name]?.(app) ?? []))
  return opened.flat()
}
