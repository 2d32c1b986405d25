import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { sizeText } from '../../src/lib/util/amounts.ts'
import type { Live } from '../live/live.ts'
import type { Descriptor } from '../mcp/carrier.ts'
import { upload } from '../mcp/writes.ts'
import { Ago, CopyButton, Empty } from '../parts/small.tsx'

/** Larger pictures have no preview: they would be sent whole. */
const maxPreviewBytes = 8_000_000

/** What the application produced: renders, exports, shared documents. */
export function FilesScreen({ live }: { live: Live }) {
  const files = live.files.value
  return (
    <>
      <Upload live={live} />
      {files === null && <p class="quiet">Reading the list …</p>}
      {files?.length === 0 && (
        <Empty title="No files yet">
          <p>In Blender: AI Link, Share Render.</p>
          <p>
            In a terminal: <code>service-cli artefacts put FILE</code>
          </p>
        </Empty>
      )}
      <ul class="cards grid">
        {files?.map(file => (
          <FileCard key={file.uri} file={file} />
        ))}
      </ul>
    </>
  )
}

function FileCard({ file }: { file: Descriptor }) {
  const { name, size, uri, annotations } = file
  const made = annotations?.lastModified
  return (
    <li class="card">
      <Preview file={file} />
      <strong>{name}</strong>
      <span class="quiet">
        {kindOf(file)}
        {size !== undefined && `, ${sizeText(size)}`}
        {made !== undefined && [', ', <Ago at={made} />]}
      </span>
      <span class="buttons">
        <a class="button" href={addressOf(file)} download={name}>
          Download
        </a>
        <CopyButton text={uri} label="Copy URI" />
      </span>
    </li>
  )
}

/** "PNG picture" instead of "image/png". */
function kindOf({ mimeType = 'application/octet-stream' }: Descriptor): string {
  const [group, type = ''] = mimeType.split(';', 1)[0]!.split('/')
  if (type === 'octet-stream') return 'File'
  if (type === 'plain') return 'Text'
  const name = type.replace(/^(x-|vnd\.)/, '').toUpperCase()
  return group === 'image' ? `${name} picture` : name
}

function Preview({ file }: { file: Descriptor }) {
  const { mimeType = '', size = 0 } = file
  const isShown =
    /^image\/(png|jpeg|webp|gif|avif|svg\+xml)$/.test(mimeType) && size <= maxPreviewBytes
  return (
    <div class="preview">
      {isShown ? (
        <img loading="lazy" src={addressOf(file)} alt="" />
      ) : (
        <span class="quiet">{kindOf(file)}</span>
      )}
    </div>
  )
}

function addressOf({ uri }: Descriptor): string {
  return `/artefacts/sha256/${uri.slice(uri.lastIndexOf('/') + 1)}`
}

function Upload({ live }: { live: Live }) {
  const state = useSignal('')
  const input = useRef<HTMLInputElement>(null)
  const { login } = live
  if (login === null) return null
  if (!login.isLoggedIn.value) {
    return (
      <p class="quiet">
        To add files for your AI, log in: run <code>service-cli page</code> and open its link.
      </p>
    )
  }
  const uploadAll = async (files: FileList | null | undefined) => {
    for (const file of files ?? []) {
      state.value = `Uploading ${file.name} …`
      try {
        await upload(file)
        state.value = `${file.name} is stored.`
      } catch (error) {
        state.value = `${file.name} is not stored: ${(error as Error).message}`
        return
      }
    }
  }
  return (
    <div
      class="drop"
      onDragOver={event => event.preventDefault()}
      onDrop={event => {
        event.preventDefault()
        void uploadAll(event.dataTransfer?.files)
      }}
    >
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={async ({ currentTarget }) => {
          await uploadAll(currentTarget.files)
          // The same file may be chosen again.
          currentTarget.value = ''
        }}
      />
      <button type="button" onClick={() => input.current?.click()}>
        Choose files
      </button>{' '}
      or drop them here: references, textures, briefs for your AI.
      <p role="status">{state.value}</p>
    </div>
  )
}
