"""Opens a trace in Perfetto's trace processor and prints what a query finds, as JSON.

    perfetto_peer.py FOLDER TRACE QUERY

FOLDER has the processor as Perfetto's page loads it, in WebAssembly, which node runs: the package
itself has only the protocol, and would download a binary. With --check FOLDER it only says whether
all of that is there, by its exit status.
"""
import json
import os
import subprocess
import sys

from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

ENGINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perfetto_engine.js")


def run_engine(folder, requests):
    done = subprocess.run(["node", ENGINE, folder], input=requests, stdout=subprocess.PIPE)
    done.check_returncode()
    return done.stdout


def query(folder, trace, text):
    protos = ProtoFactory(PlatformDelegate())
    methods = protos.TraceProcessorRpc
    requests = protos.TraceProcessorRpcStream()
    with open(trace, "rb") as file:
        requests.msg.add(request=methods.TPM_APPEND_TRACE_DATA, append_trace_data=file.read())
    requests.msg.add(request=methods.TPM_FINALIZE_TRACE_DATA)
    requests.msg.add(request=methods.TPM_QUERY_STREAMING).query_args.sql_query = text
    replies = protos.TraceProcessorRpcStream()
    replies.ParseFromString(run_engine(folder, requests.SerializeToString()))
    result = protos.QueryResult()
    for reply in replies.msg:
        if reply.HasField("append_result") and reply.append_result.error:
            raise RuntimeError(reply.append_result.error)
        result.MergeFrom(reply.query_result)
    if result.error:
        raise RuntimeError(result.error)
    return [dict(row.__dict__) for row in QueryResultIterator(result.column_names, result.batch)]


def main():
    if sys.argv[1] == "--check":
        subprocess.run(["node", "--version"], stdout=subprocess.DEVNULL, check=True)
        os.stat(os.path.join(sys.argv[2], "engine_bundle.js"))
        return
    print(json.dumps(query(*sys.argv[1:])))


if __name__ == "__main__":
    main()
