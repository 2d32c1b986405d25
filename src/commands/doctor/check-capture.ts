import type { Finding } from './finding.ts'

type SurveyedBackend = import('../../server/capture/survey.ts').SurveyedBackend
type Env = Readonly<Record<string, string | undefined>>

const check = 'window_capture'
const wayland =
  'this session runs Wayland: only windows of X11 programs are seen from outside; ' +
  'any other must be drawn by its application, as the Blender add-on does'

/** Can the windows of this session be captured, and what is missing? `drawsItself`: the connected application needs no other way. */
export function judgeCapture(
  found: readonly SurveyedBackend[],
  env: Env,
  drawsItself = false,
): Finding {
  const troubles = found.flatMap(({ name, unavailable }) =>
    unavailable === null ? [] : [`${name}: ${unavailable.message}; ${unavailable.hint}`],
  )
  const isWayland = (env.WAYLAND_DISPLAY ?? '') !== '' || env.XDG_SESSION_TYPE === 'wayland'
  const details = [...troubles, ...(isWayland ? [wayland] : [])]
  const working = found.filter(({ unavailable }) => unavailable === null).map(({ name }) => name)
  if (working.length > 0) {
    const summary = `windows of applications can be captured (${working.join(', ')})`
    return { check, status: isWayland ? 'warn' : 'ok', summary, details }
  }
  if (drawsItself) {
    const summary = 'the connected Blender draws its window itself; no other window can be captured'
    return { check, status: 'ok', summary, details }
  }
  return {
    check,
    status: 'warn',
    summary: 'no window can be captured from outside of its application',
    details,
    hint: 'docs/capture.md says what each way needs; applications that draw themselves need none',
  }
}

/** Asks the backends; nothing is captured. */
export async function lookAtCapture(env: Env, drawsItself: boolean): Promise<Finding> {
  const { surveyCapture } = await import('../../server/capture/survey.ts')
  return judgeCapture(await surveyCapture(), env, drawsItself)
}
