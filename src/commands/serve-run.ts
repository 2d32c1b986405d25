import { type CaptureFacts, pageText, renderBanner } from '../lib/cli/banner.ts'
import { pause, systemTimer } from '../lib/util/time.ts'
import type { OutputFlags } from '../lib/cli/log-level.ts'
import type { ServeCaptureState } from '../server/host/serve-options.ts'
import { describeAccess, openWarning } from './auth-settings.ts'
import { runServer } from './run-server.ts'
import type { ServeSettings } from './serve-settings.ts'

/** Runs the resource server until a signal ends it. */
export async function runServe(settings: ServeSettings, output: OutputFlags): Promise<void> {
  await runServer(
    {
      settings,
      warning: openWarning(settings, process.env),
      async start(options, cancelled) {
        const { startServe } = await import('../server/serve.ts')
        return startServe(options, cancelled)
      },
      listening: ({ url, hostUrl, hostTokenFile, instanceId }) => ({
        url,
        host_url: hostUrl,
        host_token_file: hostTokenFile,
        instance_id: instanceId,
      }),
      banner: async ({ url, hostUrl, hostTokenFile, capture, pageLogin }, shown) =>
        renderBanner({
          url,
          hostUrl,
          hostTokenFile,
          namedDir: settings.registryDir,
          page: pageLogin(),
          joins: settings.join?.gateways ?? [],
          capture: capture === null ? null : await describeCapture(capture),
          ...describeAccess(settings),
          ...shown,
        }),
      addition: async ({ gatewayPageLogin }, { colour }) => {
        return pageText(await gatewayPageLogin(), colour, { label: 'Gateway page' })
      },
    },
    output,
  )
}

/** The banner waits this long for the result of the first capture. */
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
