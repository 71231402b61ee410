# Two targets:
#   docker build --target cpu -t normexp --build-arg TORCH_INDEX=URL .    (URL: PyTorch's index of CPU wheels)
#   docker build --target cuda -t normexp:cuda .                          docker run --gpus all ...
#   docker run --rm -v normexp-results:/home/normexp/results normexp run norm=batch model=cnn
# In place of the volume a folder of yours works ($PWD/results) if user 1000 may write there; -v normexp-data:/home/normexp/data
# keeps downloads.
FROM python:3.12-slim AS wheel
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim AS base
# torch.compile (compile=true) calls a compiler.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 normexp && install --directory --owner=normexp /home/normexp/data /home/normexp/results
WORKDIR /home/normexp
ENV NORMEXP_DATA=/home/normexp/data PYTHONUNBUFFERED=1
COPY constraints.txt /wheels/

FROM base AS cpu
ARG TORCH_INDEX=
# Without an index pip's usual PyTorch is installed, which brings the GPU libraries along. The index comes beside the usual
# one: it need not hold the other packages in the versions of constraints.txt, and pip prefers 2.x+cpu to 2.x.
RUN pip install --no-cache-dir ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} -c /wheels/constraints.txt torch torchvision
COPY --from=wheel /wheels/*.whl /wheels/
RUN pip install --no-cache-dir -c /wheels/constraints.txt /wheels/*.whl
USER 1000
ENTRYPOINT ["normexp"]
CMD ["--help"]

FROM base AS cuda
# PyTorch's usual Linux wheels hold the CUDA libraries; the driver comes from the host.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN pip install --no-cache-dir -c /wheels/constraints.txt torch torchvision
COPY --from=wheel /wheels/*.whl /wheels/
RUN pip install --no-cache-dir -c /wheels/constraints.txt /wheels/*.whl
USER 1000
ENTRYPOINT ["normexp"]
CMD ["--help"]
