// `ReadableStream`, as far as bodies need it: one reader, and a source that is pulled for the next chunk when someone
// waits and none is there. Nothing is read ahead, since the host does that.

export class ReadableStream {
  #source;
  #controller;
  #chunks = [];
  #waiting = []; // the resolvers of those who wait for a chunk
  #ended = false;
  #failure; // { error }
  #busy = true;
  #locked = false;
  #disturbed = false;

  constructor(source = {}) {
    this.#source = source;
    this.#controller = {
      enqueue: (chunk) => this.#enqueue(chunk),
      close: () => this.#end(),
      error: (error) => this.#end({ error }),
      desiredSize: 1,
    };
    this.#run(() => source.start?.(this.#controller));
  }

  static from(items) {
    const iterator = items[Symbol.asyncIterator]?.() ?? items[Symbol.iterator]();
    return new ReadableStream({
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(await value);
      },
      cancel: (reason) => iterator.return?.(reason),
    });
  }

  get locked() {
    return this.#locked;
  }

  /** Whether someone began to read it, or cancelled it. */
  get disturbed() {
    return this.#disturbed;
  }

  getReader() {
    if (this.#locked) throw new TypeError("the stream has a reader already");
    this.#locked = true;
    return {
      read: () => this.#read(),
      cancel: (reason) => this.#cancel(reason),
      releaseLock: () => (this.#locked = false),
    };
  }

  async cancel(reason) {
    if (this.#locked) throw new TypeError("the stream has a reader, which can cancel it");
    await this.#cancel(reason);
  }

  values() {
    const reader = this.getReader();
    const finish = async (value) => {
      await reader.cancel();
      reader.releaseLock();
      return { done: true, value };
    };
    return { next: () => reader.read(), return: finish, [Symbol.asyncIterator]: iterates };
  }

  [Symbol.asyncIterator]() {
    return this.values();
  }

  get [Symbol.toStringTag]() {
    return "ReadableStream";
  }

  #read() {
    this.#disturbed = true;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#serve();
    });
  }

  /** Gives what is there to those who wait, and pulls if that is not enough. */
  #serve() {
    while (this.#waiting.length > 0) {
      if (this.#chunks.length > 0)
        this.#waiting.shift().resolve({ done: false, value: this.#chunks.shift() });
      else if (this.#failure) this.#waiting.shift().reject(this.#failure.error);
      else if (this.#ended) this.#waiting.shift().resolve({ done: true, value: undefined });
      else if (this.#busy || !this.#source.pull) return;
      else this.#run(() => this.#source.pull(this.#controller));
    }
  }

  /** Runs a function of the source, and no other before it is done. */
  #run(job) {
    this.#busy = true;
    const done = () => {
      this.#busy = false;
      this.#serve();
    };
    new Promise((resolve) => resolve(job())).then(done, (error) => this.#end({ error }));
  }

  #enqueue(chunk) {
    if (this.#ended) throw new TypeError("the stream has ended");
    this.#chunks.push(chunk);
    this.#serve();
  }

  #end(failure) {
    if (this.#ended) return;
    this.#ended = true;
    if (failure) this.#chunks = [];
    this.#failure = failure;
    this.#serve();
  }

  async #cancel(reason) {
    this.#disturbed = true;
    if (this.#ended) return;
    this.#chunks = [];
    this.#end();
    await this.#source.cancel?.(reason);
  }
}

function iterates() {
  return this;
}
