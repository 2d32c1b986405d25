import { jwt, sendJson, withServer } from './support.ts'

/** A registry with refresh tokens that are good for one use; a second use ends the session. */
export interface RotatingAccounts {
  readonly url: string
  /** What is valid now. */
  access: string
  refresh: string
  rotations: number
  reissues: number
  reused: boolean
  /** What answers 503; `no_refresh`: refreshing answers 401. */
  broken: 'no' | 'refresh' | 'all' | 'no_refresh'
  readonly calls: string[]
}

const hourMs = 3_600_000

export function withRotatingAccounts<T>(
  run: (registry: RotatingAccounts) => Promise<T>,
): Promise<T> {
  const state: RotatingAccounts = {
    url: '',
    access: jwt(Date.now() + hourMs, 'first'),
    refresh: 'srt_first',
    rotations: 0,
    reissues: 0,
    reused: false,
    broken: 'no',
    calls: [],
  }
  return withServer(
    ({ path, authorization, body }, res) => {
      const call = path.split('/').at(-1) ?? ''
      state.calls.push(call)
      const refreshing = call === 'refresh'
      if (state.broken === 'all' || (refreshing && state.broken === 'refresh')) {
        return sendJson(res, 503, { code: 'overloaded' })
      }
      const refused = () => sendJson(res, 401, { code: 'token-invalid', detail: 'no such token' })
      if (refreshing && state.broken === 'no_refresh') return refused()
      if (!refreshing) {
        if (authorization !== `Bearer ${state.access}`) return refused()
        return sendJson(res, 200, { username: 'alice', email: 'alice@x.example' })
      }
      if (body?.refresh_token !== undefined) {
        if (state.reused || body.refresh_token !== state.refresh) {
          state.reused = true
          return refused()
        }
        state.rotations++
        state.access = jwt(Date.now() + hourMs, `access-${state.rotations}`)
        state.refresh = `srt_${state.rotations}`
        const { access, refresh } = state
        return sendJson(res, 200, {
          access_token: access,
          refresh_token: refresh,
          expires_in: 3600,
          refresh_expires_in: 86_400,
        })
      }
      if (authorization !== `Bearer ${state.access}`) return refused()
      state.reissues++
      state.access = jwt(Date.now() + hourMs, `reissue-${state.reissues}`)
      return sendJson(res, 200, { access_token: state.access })
    },
    ({ url }) => run(Object.assign(state, { url })),
  )
}
