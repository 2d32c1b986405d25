import { batch, signal } from '@preact/signals'
import { request } from './request.ts'

const sessionPath = '/page/session'

/** The login of this browser: a session of the server, whose cookie scripts cannot read. */
export class Login {
  readonly isLoggedIn = signal(false)
  /** It was logged in, and the server no longer knows of it. */
  readonly hasEnded = signal(false)
  /** A login by key makes and settles no notes: agents hold keys, too. */
  readonly mayNote = signal(false)
  /** Whether clients of this server need an API key. */
  readonly needsKey = signal(false)

  /** Asks the server whether this browser is logged in. */
  check(): Promise<void> {
    return this.#open({})
  }

  /** Throws `McpError` when the link was used before or is too old. */
  useCode(code: string): Promise<void> {
    return this.#open({ code })
  }

  /** Throws `McpError` for an unknown key. */
  useKey(key: string): Promise<void> {
    return this.#open({}, { Authorization: `Bearer ${key}` })
  }

  async logOut(): Promise<void> {
    await request(sessionPath, { method: 'DELETE' })
    this.isLoggedIn.value = false
    await this.check()
  }

  async #open(body: object, headers: Record<string, string> = {}): Promise<void> {
    const answer = await request(sessionPath, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    const { logged_in, notes, needs_key } = await answer.json()
    batch(() => {
      this.hasEnded.value = !logged_in && (this.hasEnded.value || this.isLoggedIn.value)
      this.isLoggedIn.value = logged_in
      this.mayNote.value = notes
      this.needsKey.value = needs_key
    })
  }
}
