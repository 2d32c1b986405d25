import { request } from './request.ts'

/** What a person says about a picture or objects. */
export interface NewNote {
  readonly text: string
  readonly targets?: readonly { readonly id: string; readonly name: string }[]
  /** On the picture of `view`. */
  readonly pin?: readonly [number, number]
  readonly view?: object
}

export type PersonAction = 'accept' | 'reopen' | 'close'

/** Makes a note, which only a person who is logged in may do. Returns its id. */
export async function addNote(note: NewNote): Promise<string> {
  const response = await post('/page/notes', JSON.stringify(note), 'application/json')
  return ((await response.json()) as { note: { id: string } }).note.id
}

export async function actOnNote(id: string, action: PersonAction, text?: string): Promise<void> {
  await post(`/page/notes/${id}/${action}`, JSON.stringify({ text }), 'application/json')
}

export async function upload(file: File): Promise<void> {
  const query = new URLSearchParams({ display_name: file.name })
  await post(`/page/artefacts?${query}`, file, file.type || 'application/octet-stream')
}

function post(path: string, body: BodyInit, type: string): Promise<Response> {
  return request(path, { method: 'POST', headers: { 'Content-Type': type }, body })
}
