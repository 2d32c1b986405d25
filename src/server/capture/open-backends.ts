import type { CaptureMode } from './options.ts'
import { systemTimer } from '../../lib/util/time.ts'
import type { AppCapture } from './host-backend.ts'
import type { BackendName, CaptureBackend } from './backend.ts'
import { backendOrder } from './plan.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The backends that the mode may use, best first; modules are loaded only for those. */
export async function openBackends(
  mode: CaptureMode,
  app: AppCapture,
  env: Env = process.env,
): Promise<readonly CaptureBackend[]> {
  const order = backendOrder(mode)
  const opened: Partial<Record<BackendName, CaptureBackend>> = {}
  if (order.includes('host')) {
    const { createHostBackend } = await import('./host-backend.ts')
    opened.host = createHostBackend(app)
  }
  if (order.includes('native') || order.includes('x11')) {
    const { createWindowBackends } = await import('./window-backends.ts')
    const { native, x11 } = createWindowBackends({ env, timer: systemTimer })
    opened.native = native
    opened.x11 = x11
  }
  return order.flatMap(name => opened[name] ?? [])
}
