import { renderBanner } from '../lib/cli/banner.ts'
import type { CaptureFacts } from '../lib/cli/capture-lines.ts'
import { pause, systemTimer } from '../lib/util/time.ts'
import { currentCommand } from '../lib/cli/own-command.ts'
import { defaultLimits } from '../lib/config/limits.ts'
import type { ServeCaptureState } from '../server/host/serve-options.ts'
import { findOpening } from './auth-settings.ts'
import { openWarning } from './open-warning.ts'
import { type OutputOptions, runServer } from './run-server.ts'
import type { ServeSettings } from './serve-settings.ts'

/** Runs the resource server until a signal ends it. */
export async function runServe(settings: ServeSettings, output: OutputOptions): Promise<void> {
  await runServer(
    {
      warning: openWarning(settings, process.env),
      graceMs: settings.limits?.stopGraceMs ?? defaultLimits.stopGraceMs,
      async start(log, cancelled) {
        const { startServe } = await import('../server/serve.ts')
        return startServe({ ...settings, log, accessLog: log.access }, cancelled)
      },
      listening: ({ url, hostUrl, hostTokenFile, instanceId }) => ({
        url,
        host_url: hostUrl,
        host_token_file: hostTokenFile,
        instance_id: instanceId,
      }),
      banner: async ({ url, hostUrl, hostTokenFile, capture }, colour) =>
        renderBanner({
          url,
          hostUrl,
          hostTokenFile,
          keyed: settings.auth?.mode === 'api-key',
          tokens: settings.auth?.mode === 'oauth',
          loopback: findOpening(settings) === null,
          capture: capture === null ? null : await describeCapture(capture),
          colour,
          command: currentCommand(),
        }),
    },
    output,
  )
}

/** The banner waits so long for what stands in the way of a picture of the window. */
const triedMs = 500

async function describeCapture(capture: ServeCaptureState): Promise<CaptureFacts> {
  const seen = new AbortController()
  void capture.tried.then(() => seen.abort())
  await pause(systemTimer, triedMs, seen.signal)
  const { state, outside } = capture
  if (state.ok) return { way: state.value[0] ?? null, waits: false, trouble: null }
  const waits = state.failure.reason === 'no_application'
  return { way: null, waits, trouble: waits ? outside : state.failure }
}
