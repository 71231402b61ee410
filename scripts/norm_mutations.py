"""The mutations of mutate_norms.py: scheme -> how to break it, each a text that occurs once in a file of norms/."""

from typing import NamedTuple


class Mutation(NamedTuple):
    """One mistake: in `file` (of normexp/norms), `old` becomes `new`.

    Args:
        breaks: the mistake in words.
    """

    file: str
    old: str
    new: str
    breaks: str


def of(file: str, *changes: tuple[str, str, str]) -> list[Mutation]:
    """Return mutations of one file from (breaks, old, new)."""
    return [Mutation(file, old, new, breaks) for breaks, old, new in changes]


# torch computes batch normalization itself, so its mistakes are put around torch's forward.
OWN_FORWARD = """    def forward(self, input: Tensor) -> Tensor:
        {before}return {result}

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:"""
TORCHS = """    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:"""


def around_torch(before: str, result: str) -> str:
    return OWN_FORWARD.format(before=f"{before}\n        " if before else "", result=result)


AXES = "dims = [d for d in range(input.dim()) if d != 1]; mean = input.mean(dims, keepdim=True)"

NOT_LEARNED = (
    "alpha is not learned",
    "self.register_parameter(name, nn.Parameter(torch.tensor(start)))",
    "self.register_buffer(name, torch.tensor(start))",
)
MUTATIONS: dict[str, list[Mutation]] = {
    "none": of(
        "base.py",
        ("normalization after the nonlinearity in every placement", 'pre = self.placement == "pre" or', "pre ="),
        ("the layer's bias always dropped", "if pre and self.cancels_bias:", "if pre:"),
        ("activation is no identity", "return nn.Identity()", "return nn.Tanh()"),
        ("any placement taken", "check_options(self)", "pass"),
        ("the nonlinearity left out", "if fn is not None:", "if False:"),
        ("set_weight sets nothing", "layer.weight.copy_(value)", "layer.weight.clone().copy_(value)"),
    ),
    "batch": of(
        "kernels/batched.py",
        (
            "no gradient through the statistics at all",
            TORCHS,
            around_torch(
                AXES + "; std = (input - mean).square().mean(dims, keepdim=True).add(self.eps).sqrt()",
                "super().forward(input.detach()) + (input - input.detach()) / std.detach()",
            ),
        ),
        (
            "evaluation keeps using the batch's statistics",
            TORCHS,
            around_torch("self.train()", "super().forward(input)"),
        ),
        (
            "the scale is forgotten",
            TORCHS,
            around_torch(
                "",
                "nn.functional.batch_norm(input, self.running_mean, self.running_var, None, self.bias, self.training, "
                "self.momentum, self.eps)",
            ),
        ),
        (
            "running estimates stay where they start",
            TORCHS,
            around_torch(
                "",
                "nn.functional.batch_norm(input, None if self.training else self.running_mean, None if self.training "
                "else self.running_var, self.weight, self.bias, self.training, self.momentum, self.eps)",
            ),
        ),
        ("var=unbiased: eps is added to the biased variance", "share**0.5, share * eps", "share**0.5, eps"),
        ("var=unbiased: the factor is of the variance", "else weight * share**0.5", "else weight * share"),
    )
    + of(
        "batch.py",
        (
            "momentum is the weight of the old estimate",
            "= AnyRankBatchNorm(num_features, self.eps, self.momentum, self.affine)",
            "= AnyRankBatchNorm(num_features, self.eps, 1 - self.momentum, self.affine)",
        ),
        (
            "eps is not the one given",
            "= AnyRankBatchNorm(num_features, self.eps, self.momentum, self.affine)",
            "= AnyRankBatchNorm(num_features, self.eps**2, self.momentum, self.affine)",
        ),
        (
            "affine=false is ignored",
            "= AnyRankBatchNorm(num_features, self.eps, self.momentum, self.affine)",
            "= AnyRankBatchNorm(num_features, self.eps, self.momentum)",
        ),
        ("the layer's bias is kept", "cancels_bias = True", "cancels_bias = False"),
        ("var=unbiased is ignored", 'module.unbiased = self.var == "unbiased"', "pass"),
        (
            "running=source averages the unbiased deviation",
            "(unbiased_var * ((count - 1) / count)).sqrt()",
            "unbiased_var.sqrt()",
        ),
        (
            "running=source averages the variance",
            "(unbiased_var * ((count - 1) / count)).sqrt()",
            "(unbiased_var * ((count - 1) / count))",
        ),
        (
            "running=source starts at 1",
            'self.register_buffer("running_std", torch.zeros(num_features))',
            'self.register_buffer("running_std", torch.ones(num_features))',
        ),
        ("bias correction divides by too much", "(1 - (1 - self.momentum) **", "(1 - self.momentum **"),
    ),
    "layer": of(
        "layer.py",
        ("eps is not the one given", "weight, bias, self.eps)", "weight, bias, self.eps**2)"),
        ("no bias on vectors", "weight, bias, self.eps)", "weight, None, self.eps)"),
        ("statistics in half precision", "F.layer_norm(at_least_float32(x), (", "F.layer_norm(x, ("),
        ("one group per channel", "super().__init__(1, num_features", "super().__init__(num_features, num_features"),
        (
            "no gradient through the statistics",
            "        return y.to(x.dtype)",
            "        rstd = (x.var(1, correction=0, keepdim=True) + self.eps).rsqrt().detach()\n"
            "        return y.detach().to(x.dtype) + (x - x.detach()) * rstd",
        ),
        (
            "affine=false is ignored",
            "return SampleNorm(num_features, self.eps, self.affine)",
            "return SampleNorm(num_features, self.eps, True)",
        ),
    ),
    "instance": of(
        "instance.py",
        ("one group of all channels", "(num_features, num_features, self.eps", "(1, num_features, self.eps"),
        ("eps is not the one given", "num_features, self.eps, self.affine)", "num_features, self.eps**2, self.affine)"),
        ("affine=false is ignored", "self.eps, self.affine)", "self.eps, True)"),
        ("the layer's bias is kept", "cancels_bias = True", "cancels_bias = False"),
    )
    + of(
        "kernels/grouped.py",
        ("a single value per group is taken", "if x.shape[1] * num_positions(x) == num_groups:", "if False:"),
    )
    + of(
        "kernels/by_sample.py",
        ("eps of large maps is not the one given", "False, 0.0, eps, **into)", "False, 0.0, eps**2, **into)"),
        ("gradient of the first large map alone", "(dots * rstd).sum(0)", "(dots * rstd)[0]"),
    ),
    "group": of(
        "kernels/grouped.py",
        ("torch's cancelling kernel at every offset", "if (mean * rstd).square().max() <= MAX_RATIO:", "if True:"),
        ("half precision without weight goes to torch", "if half and (x.is_cuda or weight is None):", "if False:"),
        (
            "channels last is lost",
            "return like(F.group_norm(x.contiguous(), groups, weight, bias, eps), x)",
            "return F.group_norm(x.contiguous(), groups, weight, bias, eps)",
        ),
        ("a limit that does not divide", "if number % d == 0", "if number % d <= 1"),
        ("a single value per group is taken", "if x.shape[1] * num_positions(x) == num_groups:", "if False:"),
    )
    + of(
        "group.py",
        (
            "as many channels per group as groups are given",
            "largest_divisor(num_features, self.num_groups)",
            "num_features // largest_divisor(num_features, self.num_groups)",
        ),
        ("eps is not the one given", "num_features, self.eps, self.affine)", "num_features, self.eps**2, self.affine)"),
        ("affine=false is ignored", "self.eps, self.affine)", "self.eps, True)"),
    )
    + of(
        "kernels/by_sample.py",
        ("large maps: no gradient through the mean's part of the slope", "level - slope * mean if", "level if"),
        ("large maps: the gradient through the deviation has the wrong sign", "rstd**3 / -", "rstd**3 / "),
        ("large maps: the mean of squares is the variance", "var + mean.square()", "var"),
    ),
    "weight": of(
        "weight.py",
        ("one norm per input", "dim=output_dim(layer)", "dim=1 - output_dim(layer)"),
        ("one norm for the whole matrix", "dim=output_dim(layer)", "dim=None"),
        ("initialization by the variance", "std = var.sqrt()", "std = var"),
        ("initialization without the shift", "layer.bias.sub_(mean).div_(std)", "layer.bias.div_(std)"),
        ("unbiased deviation at initialization", "0, correction=0)", "0, correction=1)"),
        (
            "later layers see unscaled outputs",
            "return scaled if isinstance(layer, nn.Linear) else",
            "return None if isinstance(layer, nn.Linear) else",
        ),
        ("data_init=false is ignored", "if not self.data_init:", "if False:"),
    ),
    "mean_only": of(
        "mean_only.py",
        (
            "no gradient through the mean",
            "grad_x = add_per_channel(grads[0], -total / (grads[0].numel() // grads[0].shape[1]))",
            "grad_x = grads[0]",
        ),
        (
            "momentum is the weight of the old estimate",
            "[mean], self.momentum)",
            "[mean], 1 - self.momentum)",
        ),
        (
            "running mean stays where it starts",
            "move([self.running_mean]",
            "move([self.running_mean.clone()]",
        ),
        ("evaluation uses the batch's mean", "if not self.training:", "if False:"),
        ("no bias in training", "shift = -mean if bias is None else bias - mean", "shift = -mean"),
        (
            "no bias in evaluation",
            "shift = -self.running_mean if self.bias is None else self.bias - self.running_mean",
            "shift = -self.running_mean",
        ),
        ("the layer's bias is kept", "cancels_bias = True", "cancels_bias = False"),
        ("one value per channel is taken", 'check_batch(x, "mean-only batch normalization")', "pass"),
    )
    + of("kernels/affine.py", ("bias starts at 1", "nn.Parameter(zeros(", "nn.Parameter(ones(")),
    "weight_mean_only": of(
        "stack.py",
        (
            "the second scheme leaves weights alone",
            "return self.activations.parametrize(self.weights.parametrize(layer))",
            "return self.activations.parametrize(layer)",
        ),
        (
            "the first scheme is all that acts on activations",
            "return in_order(self.weights.normalization(num_features), self.activations.normalization(num_features))",
            "return self.weights.normalization(num_features)",
        ),
        (
            "the layer's bias is kept",
            "return self.weights.cancels_bias or (passes and self.activations.cancels_bias)",
            "return False",
        ),
        ("no data-dependent initialization", "self.weights.initialize(model, batch)", "pass"),
        (
            "recurrent networks get the first scheme alone",
            "return StepInOrder(*(part.recurrent(num_features, max_steps, site) for part in parts))",
            "return parts[0].recurrent(num_features, max_steps, site)",
        ),
    ),
    "stack": of(
        "stack.py",
        (
            "the second scheme first",
            "return in_order(self.weights.normalization(num_features), self.activations.normalization(num_features))",
            "return in_order(self.activations.normalization(num_features), self.weights.normalization(num_features))",
        ),
        (
            "only the first penalty",
            "return sum(present[1:], start=present[0]) if present else None",
            "return present[0] if present else None",
        ),
        ("a part may have its own placement", 'if part.placement != "pre":', "if False:"),
        (
            "an output layer is treated as every other",
            "            self.weights.linear_normalization(num_features), self.activations.linear_normalization",
            "            self.weights.normalization(num_features), self.activations.normalization",
        ),
        (
            "cancels what its second part alone would",
            "(passes and self.activations.cancels_bias)",
            "self.activations.cancels_bias",
        ),
    ),
    "normprop": of(
        "normprop.py",
        (
            "no gradient through the length",
            "return weight * (self.gamma / (self.factor * lengths(weight, self.dim)))",
            "return weight * (self.gamma / (self.factor * lengths(weight, self.dim).detach()))",
        ),
        ("one length per input", "dim=entering(weight, dim)", "dim=[dim]"),
        ("gamma starts at 1", 'gamma = 1 / RELU_GAIN if self.jacobian == "gamma" else 1.0', "gamma = 1.0"),
        ("1.21 on both places", 'factor = RELU_GAIN if self.jacobian == "weight" else 1.0', "factor = RELU_GAIN"),
        (
            "the mean is not subtracted",
            "return self.fn(x).sub(self.mean).mul_(1 / self.std)",
            "return self.fn(x).mul(1 / self.std)",
        ),
        ("times the deviation", "mul_(1 / self.std)", "mul_(self.std)"),
        ("no projection", "if not self.project or not steps:", "if True:"),
        ("average pools treated as sums", "count**-0.5 * share", "count**0.5 * share"),
    )
    + of(
        "kernels/gaussian.py",
        ("the maximum of one too few", "count * below ** (count - 1)", "count * below**count"),
        (
            "mean of squares for the variance",
            "(density * (values - mean).square()).sum().sqrt()",
            "(density * values.square()).sum().sqrt()",
        ),
    ),
    "spectral": of(
        "spectral.py",
        (
            "sigma is no function of the weight",
            "return weight / singular_value(matrix, u, v)",
            "return weight / singular_value(matrix, u, v).detach()",
        ),
        ("u is not kept", "if self.training:", "if False:"),
        ("evaluation moves u", "if self.training:", "if True:"),
        ("no warm-up", "self.eps, WARM_UP)[0]", "self.eps, 1)[0]"),
        (
            "divided by sigma squared",
            "return weight / singular_value(matrix, u, v)",
            "return weight / singular_value(matrix, u, v) ** 2",
        ),
    )
    + of(
        "kernels/power_iteration.py",
        (
            "the kernel as (all but the first input, ...)",
            "return weight.movedim(dim, 0).flatten(1)",
            "return weight.movedim(dim, 0).flatten(0, -2)",
        ),
        ("power iteration in the gradient", "@torch.no_grad()\ndef power_step", "def power_step"),
    ),
    "spectral_penalty": of(
        "spectral_penalty.py",
        ("no factor 1/2", "return self.strength / 2 *", "return self.strength *"),
        (
            "sigma, not its square",
            "[self._sigma(layer).square() for layer in layers]",
            "[self._sigma(layer) for layer in layers]",
        ),
        ("u is not kept", "if layer.training:", "if False:"),
        ("evaluation moves u", "if layer.training:", "if True:"),
        ("no gradient", "return singular_value(matrix, u, v)", "return singular_value(matrix, u, v).detach()"),
    ),
    "weight_standard": of(
        "weight_standard.py",
        ("biased for unbiased", 'int(self.std == "unbiased")', "0"),
        ("eps inside the root", "/ (std + self.eps)", "/ (std**2 + self.eps).sqrt()"),
        (
            "no gradient through mean and deviation",
            "std, mean = std_mean(weight,",
            "std, mean = std_mean(weight.detach(),",
        ),
        ("statistics per input", "entering(weight, self.dim)", "[self.dim]"),
        ("the mean stays", "return (weight - mean) /", "return weight /"),
    ),
    "scaled_weight_standard": of(
        "scaled_weight_standard.py",
        ("unbiased for biased", "self.dim), 0)", "self.dim), 1)"),
        ("no fan-in", "(fan_in * var).clamp", "var.clamp"),
        ("no gradient through mean and deviation", "var_mean(weight,", "var_mean(weight.detach(),"),
        ("no gain", "(self.gain * (fan_in", "(1.0 * (fan_in"),
        ("the activation keeps its variance", "return Scaled(fn, 1 / std)", "return fn"),
        ("eps added, not a bound", "(fan_in * var).clamp(min=self.eps)", "(fan_in * var + self.eps)"),
    ),
    "batch_renorm": of(
        "batch_renorm.py",
        (
            "the variance is averaged",
            "(mean, std), self.momentum)",
            "(mean, std.square()), self.momentum)",
        ),
        (
            "momentum is the weight of the old estimate",
            "(mean, std), self.momentum)",
            "(mean, std), 1 - self.momentum)",
        ),
        (
            "d is not divided by the deviation",
            "d = ((mean - self.running_mean) / self.running_std)",
            "d = (mean - self.running_mean)",
        ),
        ("r has no lower limit", "clamp(1 / rmax, rmax)", "clamp(max=rmax)"),
        ("d without the learned scale", "self.weight * d + self.bias", "d + self.bias"),
        ("evaluation adds eps again", "self.weight, self.bias, NOTHING)", "self.weight, self.bias, self.eps)"),
        ("limits rise from the start", "(step - self.wait).clamp(0)", "step.clamp(0)"),
    )
    + of(
        "kernels/batched.py",
        (
            "no gradient through the statistics",
            "return *parts, None, None, None",
            "wide = [1, -1, *[1] * (x.dim() - 2)]\n"
            "        return grads[0] * (weight * rstd).view(wide), *parts[1:], None, None, None",
        ),
        (
            "unbiased variance",
            "mean, var = torch.batch_norm_update_stats(x, zeros, zeros.clone(), 0.0)",
            "m, v = torch.batch_norm_update_stats(x, zeros, zeros.clone(), 0.0)\n"
            "    n = x.numel() // x.shape[1]\n    return m, v * n / (n - 1)",
        ),
    ),
    "ghost_batch": of(
        "ghost_batch.py",
        ("the whole batch at once", "if not self.training or len(input) <= self.chunk_size:", "if True:"),
        ("a lone example stays alone", "if rest == 1 and not alone:", "if False:"),
        ("the last chunk is lost", "    elif rest:\n", "    elif False:\n"),
        (
            "momentum is the weight of the old estimate",
            "super().__init__(num_features, eps, momentum, affine)",
            "super().__init__(num_features, eps, 1 - momentum, affine)",
        ),
        ("the layer's bias is kept", "cancels_bias = True", "cancels_bias = False"),
    ),
    "recurrent_batch": of(
        "recurrent_batch.py",
        ("one set of running estimates for all steps", "step = min(t, self.max_steps - 1)", "step = 0"),
        (
            "beyond the last step: from the start again",
            "step = min(t, self.max_steps - 1)",
            "step = t % self.max_steps",
        ),
        ("the gain starts at 1", "torch.full((num_features,), scheme.gain)", "torch.full((num_features,), 1.0)"),
        ("bias=false is ignored", "if bias else None)", ")"),
        ("evaluation uses the batch", "varies, self.bias, False, 0.0", "varies, self.bias, True, 0.0"),
        ("evaluation never uses the population", "taken = not x.is_meta and int(", "taken = False and int("),
        ("what does not vary is divided by sqrt(eps)", "self.varies[step] = var >", "self.varies[step] = 1.0 + var >"),
        (
            "momentum is the weight of the old estimate",
            "self.bias, True, self.momentum, self.eps)",
            "self.bias, True, 1 - self.momentum, self.eps)",
        ),
        (
            "training sees the population",
            "return self._by(self.running, x, t)",
            "return self._by(self.population, x, t)",
        ),
        ("one value per channel is taken", 'check_batch(x, "recurrent batch normalization")', "pass"),
    ),
    "rms": of(
        "rms.py",
        (
            "the mean is subtracted",
            "        scale = (mean_square(wide)",
            "        wide = wide - wide.mean(1, keepdim=True)\n        scale = (mean_square(wide)",
        ),
        (
            "eps outside the root",
            ".mean(1, keepdim=True) + self.eps).rsqrt()",
            ".mean(1, keepdim=True)).sqrt().add(self.eps).reciprocal()",
        ),
        ("no gradient through the root mean square", "mean_square(wide)", "mean_square(wide).detach()"),
        ("sum for mean", ".mean(1, keepdim=True)", ".sum(1, keepdim=True)"),
        ("each channel by itself", ".mean(1, keepdim=True)", ""),
        ("the gain is left out", "else scale * self.weight", "else scale.expand(-1, x.shape[1])"),
        ("affine=false is ignored", "weight=affine", "weight=True"),
    )
    + of(
        "kernels/moments.py",
        ("squares in half precision", "dim=list(range(2, x.dim())), dtype=dtype)", "dim=list(range(2, x.dim())))"),
        ("half of the squares' gradient", "(2 / num_positions(x))", "(1 / x[0, 0].numel())"),
    ),
    "positional": of(
        "positional.py",
        ("eps is not the one given", "weight, bias, eps)[0]", "weight, bias, eps**2)[0]"),
        ("no bias", "weight, bias, eps)[0]", "weight, None, eps)[0]"),
        ("a single channel is taken", "if x.shape[1] == 1:", "if False:"),
        ("the layout is lost", "return y if last.is_contiguous() else y.contiguous()", "return y.contiguous()"),
        (
            "no gradient through the statistics",
            "native_layer_norm(last,",
            "native_layer_norm(last.detach() + last * 0,",
        ),
        ("unbiased variance", "[0].movedim(-1, 1)", "[0].mul((1 - 1 / x.shape[1]) ** 0.5).movedim(-1, 1)"),
        ("statistics in half precision", "None if x.is_cuda else make(", "None if True else make("),
    ),
    "filter_response": of(
        "filter_response.py",
        (
            "eps outside the root",
            "(position_sum(x.square()) / num_positions(x) + eps).rsqrt()",
            "((position_sum(x.square()) / x[0, 0].numel()).sqrt() + eps).reciprocal()",
        ),
        ("the root is forgotten", "+ eps).rsqrt()", "+ eps).reciprocal()"),
        ("no gradient through the root mean square", "through = grad_mean_square", "through = 0 * grad_mean_square"),
        ("no threshold", "if not threshold:", "if True:"),
        ("the threshold is an upper limit", "limit + (z - limit).relu()", "limit - (limit - z).relu()"),
        ("the threshold gets the passed gradient too", "channel_sum(grad) - channel_sum(passed)", "channel_sum(grad)"),
        ("eps may be learned below 0", "self.eps + self.eps_learned.abs()", "self.eps + self.eps_learned"),
        ("the network's nonlinearity comes on top", "return nn.Identity() if self.unit else fn", "return fn"),
        ("a single position is taken", "if self.eps_learned is None and num_positions(x) == 1:", "if False:"),
        ("an output layer gets the unit", "self.learn_eps, threshold=False)", "self.learn_eps, self.unit)"),
    ),
    "switchable": of(
        "switchable.py",
        ("the running variance is biased", "unbiased(var, x)", "var"),
        ("one softmax for both", "mixture(variances, self.var_logits, x)", "mixture(variances, self.mean_logits, x)"),
        ("evaluation uses the batch", "if not self.training:", "if False:"),
        (
            "momentum is the weight of the old estimate",
            "unbiased(var, x)), self.momentum)",
            "unbiased(var, x)), 1 - self.momentum)",
        ),
        (
            "layer and batch change places",
            "+ shares[1] * layer.unsqueeze(1) + shares[2] * batch",
            "+ shares[2] * layer.unsqueeze(1) + shares[1] * batch",
        ),
        (
            "logits start at 0 for the batch",
            "self.var_logits = nn.Parameter(torch.ones(3))",
            "self.var_logits = nn.Parameter(torch.tensor([1.0, 1.0, 0.0]))",
        ),
        ("one value per channel is taken", 'check_batch(x, "switchable normalization")', "pass"),
    )
    + of(
        "kernels/moments.py",
        ("pooled variance without that of the means", "var.mean(dim) + apart.square().mean(dim)", "var.mean(dim)"),
        (
            "unbiased variance of the means",
            "apart.square().mean(dim)",
            "apart.square().sum(dim) / (apart.shape[dim] - 1)",
        ),
        ("no gradient through the variance", "slope = 2 * grads[1] / count", "slope = 0 * grads[1] / count"),
    ),
    "decorrelated": of(
        "decorrelated.py",
        (
            "PCA for ZCA",
            "return (vectors * values.rsqrt().unsqueeze(-2)) @ vectors.mT",
            "return (vectors * values.rsqrt().unsqueeze(-2)).mT",
        ),
        ("unbiased covariance", "centred(x, mean)) / count", "centred(x, mean)) / (count - 1)"),
        ("no gradient through the covariance", "values, vectors) * (2 / count)", "values, vectors) * 0"),
        ("no gradient through the mean", ".squeeze(0) / -count", ".squeeze(0) * 0"),
        (
            "momentum is the weight of the old estimate",
            "(mean, matrix), self.momentum)",
            "(mean, matrix), 1 - self.momentum)",
        ),
        (
            "running mean stays where it starts",
            "move((self.running_mean,",
            "move((self.running_mean.clone(),",
        ),
        ("derivative of the root off by a factor", "rows * columns * (rows + columns)", "rows * columns * 2 * rows"),
        ("too few values are taken", "if count <= self.group_size:", "if False:"),
    ),
    "evonorm_s0": of(
        "evonorm_s0.py",
        ("the gate without v", "(x * over_positions(v, x)).sigmoid()", "x.sigmoid()"),
        ("eps outside the root", "(var + eps).rsqrt()", "var.sqrt().add(eps).reciprocal()"),
        ("no gradient through the deviation", "through * (-num_groups", "0 * through * (-num_groups"),
        (
            "channels of other groups",
            "(var + eps).rsqrt().repeat_interleave(size, 1)",
            "(var + eps).rsqrt().repeat(1, size)",
        ),
        (
            "the network's nonlinearity comes on top",
            "def nonlinearity(self, fn: nn.Module) -> nn.Module:\n        return nn.Identity()",
            "def nonlinearity(self, fn: nn.Module) -> nn.Module:\n        return fn",
        ),
        ("a single value per group is taken", "check_groups(x, self.num_groups)", "pass"),
        (
            "an output layer gets a gate",
            "def linear_normalization(self, num_features: int) -> nn.Module:\n        return nn.Identity()",
            "def linear_normalization(self, num_features: int) -> nn.Module:\n"
            "        return self.normalization(num_features)",
        ),
    ),
    "evonorm_b0": of(
        "evonorm_b0.py",
        ("the smaller deviation divides", "instance - batch).relu()", "instance - batch).neg().relu().neg()"),
        ("the running variance is biased", "unbiased(batch, x)", "batch"),
        ("evaluation uses the batch", "if self.training else self.running_var", "if True else self.running_var"),
        ("eps outside the root", "(batch + self.eps).sqrt()", "(batch.sqrt() + self.eps)"),
        (
            "momentum is the weight of the old estimate",
            "x)], self.momentum)",
            "x)], 1 - self.momentum)",
        ),
        ("no gradient through the batch's deviation", "        return batch\n", "        return batch.detach()\n"),
        (
            "v starts at 0",
            "self.v = nn.Parameter(torch.ones(num_features))",
            "self.v = nn.Parameter(torch.zeros(num_features))",
        ),
    ),
    "derf": of("kernels/squashing.py", NOT_LEARNED)
    + of(
        "derf.py",
        ("the shift outside the function", "(x * alpha).add_(shift).erf_()", "(x * alpha).erf_().add_(shift)"),
        ("another function", ".erf_(), affine)", ".tanh_(), affine)"),
        ("the gradient of another function", "z.square_().neg_()", "z.square_().neg_().mul_(2)"),
        ("no gradient of the shift", "(plain * weight).sum(), *rest", "0 * (plain * weight).sum(), *rest"),
    ),
    "dyisru": of("kernels/squashing.py", NOT_LEARNED)
    + of(
        "dyisru.py",
        ("no root", "x * (x.square() + alpha).rsqrt(), affine", "x / (x.square() + alpha), affine"),
        ("alpha squared", "+ alpha).rsqrt(), affine", "+ alpha.square()).rsqrt(), affine"),
        ("the gradient of alpha has the wrong sign", "* -0.5", "* 0.5"),
        ("the gradient without its cube", "mul_(scale.square_())", "mul_(scale)"),
    ),
    "rep_batch": of(
        "rep_batch.py",
        ("no path beside", "torch.add(y, x, alpha=float(alpha))", "y.clone()"),
        ("no gradient through the path beside", "grads[0], grads[0] * alpha,", "grads[0], None,"),
        (
            "alpha is not learned",
            "self.alpha = nn.Parameter(torch.tensor(1.0))",
            'self.register_buffer("alpha", torch.tensor(1.0))',
        ),
        ("alpha starts at 0", "nn.Parameter(torch.tensor(1.0))", "nn.Parameter(torch.tensor(0.0))"),
        ("the shares are swapped", "part * layer + (1 - part)", "(1 - part) * layer + part"),
        ("layer normalization stays", "self.steps_left.sub_(1).clamp_(min=0)", "self.steps_left.clamp_(min=0)"),
        ("below nothing", ".clamp_(min=0)", ""),
        ("no step", "return step if layers else None", "return None"),
    ),
    "scale_norm": of(
        "scale_norm.py",
        ("mean for sum", ".sum(1, keepdim=True) * num_positions(x)", ".mean(1, keepdim=True) * num_positions(x)"),
        ("positions are forgotten", " * num_positions(x)", ""),
        ("the gain starts at 1", "math.sqrt(num_features)", "1.0"),
        ("no gradient through the length", "mean_square(wide).sum", "mean_square(wide).detach().sum"),
        ("eps outside the root", "(squares + self.eps).rsqrt()", "(squares.sqrt() + self.eps).reciprocal()"),
    ),
    "ssnorm": of(
        "ssnorm.py",
        (
            "the mean is subtracted",
            "        scale = self.gain",
            "        x = x - x.mean(1, keepdim=True)\n        scale = self.gain",
        ),
        ("sum for mean", ".mean(1, keepdim=True)", ".sum(1, keepdim=True)"),
        (
            "the gain is not learned",
            "self.gain = nn.Parameter(torch.tensor(1.0))",
            'self.register_buffer("gain", torch.tensor(1.0))',
        ),
        ("no gradient through the root mean square", "mean_square(wide)", "mean_square(wide).detach()"),
    ),
    "dynamic_tanh": of("kernels/squashing.py", NOT_LEARNED)
    + of(
        "dynamic_tanh.py",
        ("alpha outside the tanh", "tanh(x * alpha), affine", "tanh(x) * alpha, affine"),
        ("alpha starts at 1", "alpha=self.alpha", "alpha=1.0"),
        ("no scale and shift", "return scaled_and_shifted(tanh(x * alpha), affine)", "return tanh(x * alpha)"),
        ("another function", "tanh(x * alpha), affine", "(x * alpha).arctan(), affine"),
    )
    + of(
        "kernels/recompute.py",
        (
            "gradient for one input too few",
            "[next(found) if need else None for need in needed]",
            "[next(found) if need and place == 0 else None for place, need in enumerate(needed)]",
        ),
        ("the gradient of the last slice alone", "else out.add_(value)", "else out.copy_(value)"),
    ),
    "online": of(
        "online.py",
        (
            "an example sees itself",
            "means, last_mean = scan(1 - rate, rate * mean.double(), self.running_mean.double())",
            "_, last_mean = scan(1 - rate, rate * mean.double(), self.running_mean.double()); means = mean.double()",
        ),
        ("no spread between mean and estimate", "+ (1 - rate) * rate * (mean.double() - means).square()", ""),
        ("spread around the estimate without (1 - rate)", "(1 - rate) * rate * (mean", "rate * (mean"),
        (
            "running variance stays where it starts",
            "layer.leave(layer.estimates, last)",
            "layer.running_mean.copy_(last[0])",
        ),
        (
            "momentum is the weight of the old estimate",
            "scan(1 - rate, rate * mean.double()",
            "scan(rate, rate * mean.double()",
        ),
        (
            "no control of the mean",
            "(-rate * v).to(rstd.dtype) * rstd, (-rate * u).to(rstd.dtype)",
            "(-rate * v).to(rstd.dtype) * rstd, (0 * u).to(rstd.dtype)",
        ),
        (
            "no control of the scale",
            "(-rate * v).to(rstd.dtype) * rstd, (-rate * u).to(rstd.dtype)",
            "(0 * v).to(rstd.dtype) * rstd, (-rate * u).to(rstd.dtype)",
        ),
        ("controls are not kept", "ctx.layer.leave(ctx.layer.controls, last)", "pass"),
        ("the control of the scale sees no y^2", "1 - rate * mean_yy", "1 - rate * mean_yy.sqrt()"),
        (
            "no layer scaling",
            'if self.control == "layer_scaling" else torch.ones_like',
            "if False else torch.ones_like",
        ),
        ("no gradient through the layer's scale", "* scale**3", "* 0"),
        ("eps outside the root", "(variances + self.eps).rsqrt()", "(variances.sqrt() + self.eps).reciprocal()"),
    )
    + of("kernels/scan.py", ("every block starts anew", "product[n, -1], starts[-1]", "product[n, -1], start")),
}
