import type { Login } from './login.ts'

/** What a person says about a picture or objects. */
export interface NewNote {
  readonly text: string
  readonly targets?: readonly { readonly id: string; readonly name: string }[]
  /** On the picture of `view`. */
  readonly pin?: readonly [number, number]
  readonly view?: object
}

export type PersonAction = 'accept' | 'reopen' | 'close'

/** What only a person who has logged in may do: MCP clients cannot. */
export class PageWrites {
  readonly #login: Login

  constructor(login: Login) {
    this.#login = login
  }

  async addNote(note: NewNote): Promise<{ readonly id: string }> {
    const response = await this.#post('/page/notes', JSON.stringify(note), 'application/json')
    return ((await response.json()) as { note: { id: string } }).note
  }

  async act(id: string, action: PersonAction, text?: string): Promise<void> {
    const body = JSON.stringify(text === undefined ? {} : { text })
    await this.#post(`/page/notes/${encodeURIComponent(id)}/${action}`, body, 'application/json')
  }

  async upload(file: File): Promise<void> {
    const query = new URLSearchParams({ display_name: file.name })
    await this.#post(`/page/artefacts?${query}`, file, file.type || 'application/octet-stream')
  }

  /** The bytes of a stored file. */
  async download(hash: string): Promise<Blob> {
    const response = await this.#login.fetch(`/artefacts/sha256/${hash}`)
    return response.blob()
  }

  #post(path: string, body: BodyInit, type: string): Promise<Response> {
    const headers = { 'Service-Page': '1', 'Content-Type': type }
    return this.#login.fetch(path, { method: 'POST', headers, body })
  }
}
