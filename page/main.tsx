import { render } from 'preact'
import { createLive } from './live/live.ts'
import { createHttpCarrier } from './mcp/http-carrier.ts'
import { Login } from './mcp/login.ts'
import { PageWrites } from './mcp/page-writes.ts'
import { App } from './app.tsx'

const login = new Login()
const failure = await useLink()
const carrier = createHttpCarrier(login)
const live = createLive(carrier, { login, writes: new PageWrites(login) })
render(<App live={live} loginFailure={failure} />, document.getElementById('app')!)

/** Takes a one-time link out of the address and uses it. Returns why it could not be used. */
async function useLink(): Promise<string | null> {
  const code = new URLSearchParams(location.hash.slice(1)).get('login')
  if (code !== null) {
    history.replaceState(null, '', location.pathname)
    try {
      await login.useCode(code)
      return null
    } catch (error) {
      // A link that is opened twice in one browser has done its work.
      return (await login.token()) === null ? (error as Error).message : null
    }
  }
  await login.token()
  return null
}
