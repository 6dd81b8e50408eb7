// A client over kafkajs for the tests of transactions and of SASL: one request as JSON on standard input, its result as JSON on
// standard output, or an error on standard error and exit code 1. It judges nothing; the test that calls it does.
'use strict'

const { readFileSync } = require('node:fs')

const { Kafka, logLevel } = require('kafkajs')

const LIMIT_MS = 30000
const PAUSE_MS = 100
// how long a reader that has all its records waits for one that should not be there
const REST_MS = 300

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

// how the client proves who it is (a token is its password), and the file with the authority that it trusts (none: no TLS)
const security = ({ security: given }) => {
  if (!given) return {}
  const mechanism = given.mechanism.toLowerCase()
  const token = async () => ({ value: given.password })
  const sasl = { mechanism, username: given.user, password: given.password, oauthBearerProvider: token }
  return given.authority ? { sasl, ssl: { ca: [readFileSync(given.authority, 'utf-8')] } } : { sasl }
}

const newClient = (request) =>
  new Kafka({
    brokers: request.bootstrap.split(','),
    clientId: 'kafkajs',
    ...security(request),
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 100, retries: 8 },
  })

// waits until `is_true()`, and fails with `what()` at the limit
const until = async (isTrue, what) => {
  const end = Date.now() + LIMIT_MS
  while (!isTrue()) {
    if (Date.now() > end) throw new Error(what())
    await sleep(5)
  }
}

// calls `take` with each record of the topic, in a group
const consume = async (client, { topic, group, readUncommitted }, take) => {
  const consumer = client.consumer({ groupId: group, readUncommitted, maxWaitTimeInMs: 20 })
  let fetched = 0
  let crash = null
  consumer.on(consumer.events.FETCH, () => (fetched += 1))
  // it starts again by itself after what may pass, such as a coordinator that still loads the group
  consumer.on(consumer.events.CRASH, ({ payload }) => (crash = payload.restart ? crash : payload.error))
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({ autoCommit: false, eachMessage: async ({ partition, message }) => take(partition, message) })
  return {
    disconnect: () => consumer.disconnect(),
    until: (isTrue, what) =>
      until(() => {
        if (crash) throw crash
        return fetched > 0 && isTrue()
      }, what),
  }
}

class Script {
  constructor(request) {
    this.request = request
    this.client = newClient(request)
    this.producers = new Map()
    this.transactions = new Map()
  }

  async run(step) {
    const transaction = this.transactions.get(step.producer)
    switch (step.verb) {
      case 'init':
        return this.init(step.producer)
      case 'begin':
        return this.begin(step.producer)
      case 'send':
        return this.send(transaction, step)
      case 'send_until_refused':
        for (const end = Date.now() + LIMIT_MS; Date.now() < end; await sleep(PAUSE_MS)) {
          await this.send(transaction, step)
        }
        return undefined
      case 'commit':
        return transaction.commit()
      case 'abort':
        return transaction.abort()
      case 'copy':
        return this.copy(step)
      default:
        throw new Error(`no verb ${step.verb}`)
    }
  }

  // kafkajs asks for its producer id when it begins its first transaction; an abort of an empty one is no request
  async init(name) {
    const producer = this.client.producer({
      transactionalId: this.request.transactional_id,
      transactionTimeout: this.request.timeout_ms,
      idempotent: true,
      maxInFlightRequests: 1,
    })
    this.producers.set(name, producer)
    await producer.connect()
    const empty = await producer.transaction()
    await empty.abort()
  }

  async begin(name) {
    this.transactions.set(name, await this.producers.get(name).transaction())
  }

  send(transaction, { topic, records }) {
    const messages = records.map(([partition, value]) => ({ partition, value }))
    return transaction.send({ topic, acks: -1, messages })
  }

  // reads records of a topic as a member of a group and writes them to another topic in one transaction
  async copy({ producer, topic, target, group, count, commits }) {
    const read = []
    const ends = new Map()
    const consumer = await consume(this.client, { topic, group }, (partition, { offset, value }) => {
      if (read.length >= count) return
      read.push({ partition, value })
      ends.set(partition, (BigInt(offset) + 1n).toString())
    })
    try {
      await consumer.until(() => read.length >= count, () => `${read.length} of ${count} records`)
      const transaction = await this.producers.get(producer).transaction()
      await transaction.send({ topic: target, acks: -1, messages: read })
      const partitions = [...ends].map(([partition, offset]) => ({ partition, offset }))
      await transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic, partitions }] })
      await (commits ? transaction.commit() : transaction.abort())
    } finally {
      await consumer.disconnect()
    }
  }

  async disconnect() {
    for (const producer of this.producers.values()) await producer.disconnect()
  }
}

// runs the steps in their order and answers a text for each, empty or the error
const transactions = async (request) => {
  const script = new Script(request)
  const outcomes = []
  for (const step of request.steps) {
    try {
      await script.run(step)
      outcomes.push('')
    } catch (error) {
      outcomes.push(`${error.name}: ${error.message}`)
    }
  }
  await script.disconnect()
  return outcomes
}

// partition, offset and value of the first `count` records of a topic, and of any more that come soon after: kafkajs
// does not tell where it is behind records that it filters
const read = async (request) => {
  const found = []
  const group = `read-${request.topic}-${process.pid}-${Date.now()}`
  const given = { topic: request.topic, group, readUncommitted: !request.read_committed }
  const consumer = await consume(newClient(request), given, (partition, { offset, value }) =>
    found.push([partition, Number(offset), value.toString()])
  )
  try {
    await consumer.until(() => found.length >= request.count, () => `${found.length} of ${request.count} records`)
    await sleep(REST_MS)
  } finally {
    await consumer.disconnect()
  }
  return found
}

// writes the values to partition 0
const produce = async (request) => {
  const producer = newClient(request).producer()
  await producer.connect()
  const messages = request.values.map((value) => ({ partition: 0, value }))
  await producer.send({ topic: request.topic, acks: -1, messages })
  await producer.disconnect()
  return messages.length
}

const CALLS = { transactions, read, produce }

const run = async () => {
  let text = ''
  for await (const part of process.stdin) text += part
  const request = JSON.parse(text)
  const call = CALLS[request.call]
  if (!call) throw new Error(`no call ${request.call}`)
  return JSON.stringify(await call(request))
}

run().then(
  (result) => process.stdout.write(result, () => process.exit(0)),
  (error) => {
    console.error(error)
    process.exit(1)
  }
)
